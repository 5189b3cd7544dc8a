"""O retrato da fila, para pessoas e para máquinas. Só lê; funciona ao lado de quem envia."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from .configuracao import Opcoes
from .fila import Fila
from .pulso import VigiaDoRelogio, calcular_idade_s
from .quadros import Quadros
from .relogio import Relogio
from .remetente import ALARME
from .vaga import ler_dono


def medir_situacao(pasta: Path, opcoes: Opcoes) -> dict[str, Any]:
    """Tudo o que se sabe da fila de uma pasta. Levanta FilaIndisponivel se não há fila nela."""
    relogio = Relogio()
    fila = Fila(pasta, espaco_bytes=opcoes.fila_bytes, reserva_bytes=opcoes.reserva_bytes, criar=False)
    try:
        quadros = Quadros(pasta, fila.arquivo, relogio, opcoes.guarda())
        medida = fila.medir()
        qtd_quadros, bytes_quadros = quadros.medir()
        return {
            "pasta": str(pasta),
            "enviando_pid": ler_dono(pasta),
            "fila": {
                "prontos": medida.prontos,
                "esperando": medida.esperando,
                "bytes": medida.bytes_usados,
                "mais_antigo_s": calcular_idade_s(medida, relogio),
            },
            "quarentena": medida.quarentena,
            "quarentena_por_motivo": dict(Counter(item.motivo for item in fila.quarentena.listar())),
            "descartes": fila.ler_descartes(),
            "quadros": {"qtd": qtd_quadros, "bytes": bytes_quadros},
            "disco_livre_bytes": quadros.disco_livre_bytes(),
            "relogio_suspeito": VigiaDoRelogio(fila, relogio).suspeito(),
            "autenticacao_recusada": fila.ler_anotacao(ALARME) or None,
            "filas_danificadas": [str(caminho) for caminho in fila.arquivo.danificados()],
        }
    finally:
        fila.fechar()


def escrever_situacao(retrato: dict[str, Any]) -> str:
    """O retrato em linhas para ler."""
    fila, quadros = retrato["fila"], retrato["quadros"]
    quem = f"processo {retrato['enviando_pid']}" if retrato["enviando_pid"] else "ninguém"
    idade = f", o mais antigo há {fila['mais_antigo_s']:.0f} s" if fila["mais_antigo_s"] is not None else ""
    linhas = [
        f"Fila de {retrato['pasta']}; quem envia: {quem}",
        f"Por enviar: {fila['prontos'] + fila['esperando']} ({fila['esperando']} esperam a vez de novo{idade})",
        f"Quarentena: {retrato['quarentena']}{_por_motivo(retrato['quarentena_por_motivo'])}",
        f"Descartes desde o começo: {sum(retrato['descartes'].values())}{_por_motivo(retrato['descartes'])}",
        f"Quadros guardados: {quadros['qtd']} ({quadros['bytes'] / 1e6:.1f} MB)",
        f"Disco: fila {fila['bytes'] / 1e6:.1f} MB, livre {retrato['disco_livre_bytes'] / 1e6:.0f} MB",
    ]
    if retrato["autenticacao_recusada"]:
        linhas.append(
            f"ALARME: o servidor recusa o token ({retrato['autenticacao_recusada']}); nada é apagado."
        )
    if retrato["relogio_suspeito"]:
        linhas.append("ATENÇÃO: a hora do dispositivo é suspeita; confira o NTP.")
    for caminho in retrato["filas_danificadas"]:
        linhas.append(f"ATENÇÃO: um arquivo danificado foi posto de lado: {caminho}")
    return "\n".join(linhas)


def _por_motivo(contagem: dict[str, int]) -> str:
    return f" ({', '.join(f'{motivo}: {qtd}' for motivo, qtd in contagem.items())})" if contagem else ""
