"""A tabela que a pessoa lê e o JSON que a máquina lê."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bancada.medida import Medida

CABECALHO = ("figura", "valor", "±", "unidade", "referência", "razão", "rodadas")


def montar_json(medidas: Sequence[Medida]) -> dict[str, dict[str, Any]]:
    """Devolve o conteúdo de `bench.json`; as chaves são contrato. `rodadas` traz o valor de cada uma."""
    return {
        medida.figura: {
            "valor": _arredondar(medida.valor),
            "unidade": medida.unidade,
            "referencia": _arredondar(medida.referencia),
            "razao": _arredondar(medida.razao),
            "rodadas": [_arredondar(rodada.valor) for rodada in medida.rodadas],
        }
        for medida in medidas
    }


def gravar_json(medidas: Sequence[Medida], arquivo: Path) -> None:
    """Grava o JSON inteiro ou nada: quem lê enquanto se mede não encontra meio arquivo."""
    arquivo.parent.mkdir(parents=True, exist_ok=True)
    provisorio = arquivo.with_name(f"{arquivo.name}.novo")
    provisorio.write_text(json.dumps(montar_json(medidas), indent=1, ensure_ascii=False) + "\n", "utf-8")
    provisorio.replace(arquivo)


def montar_tabela(medidas: Sequence[Medida]) -> str:
    """Devolve a tabela: mediana, meia amplitude em %, referência e razão de cada figura."""
    linhas = [CABECALHO, *(_linha(medida) for medida in medidas)]
    larguras = [max(len(linha[i]) for linha in linhas) for i in range(len(CABECALHO))]
    return "\n".join(
        "  ".join(
            # O nome e a unidade se alinham à esquerda; números, à direita.
            texto.ljust(largura) if coluna in (0, 3, 6) else texto.rjust(largura)
            for coluna, (texto, largura) in enumerate(zip(linha, larguras, strict=True))
        ).rstrip()
        for linha in linhas
    )


def formatar(numero: float) -> str:
    """`12.345`, `123,4` ou `0,1234`: algarismos bastantes para comparar, não para enganar."""
    casas = 0 if abs(numero) >= 1000 else 1 if abs(numero) >= 100 else 2 if abs(numero) >= 1 else 3
    return f"{numero:,.{casas}f}".translate(str.maketrans(",.", ".,"))


def _linha(medida: Medida) -> tuple[str, ...]:
    return (
        medida.figura,
        formatar(medida.valor),
        f"{medida.dispersao:.0%}",
        medida.unidade,
        formatar(medida.referencia),
        formatar(medida.razao),
        " ".join(formatar(rodada.valor) for rodada in medida.rodadas),
    )


def _arredondar(numero: float) -> float:
    return round(numero, 6)
