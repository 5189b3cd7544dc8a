"""Um payload colado, lido como seria se chegasse. Nada é gravado."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dlr.dominio.recibo import Chamada
from dlr.integracoes import Elenco
from dlr.leitura import ItemLido, RecepcaoLida, ler_recepcao
from dlr.models import Integracao, TipoDeExcecao
from painel.admin.ficha import Linha, mostrar_instante
from painel.admin.inerte import neutralizar
from painel.admin.texto_alheio import escrever_json

ITENS_MOSTRADOS = 50
CAMPOS = {
    "id_externo": "Id externo",
    "estado_bruto": "Estado bruto",
    "estado": "Estado normalizado",
    "final": "Final, dito pela transportadora",
    "codigo_erro": "Código de erro",
    "origem": "Origem",
    "destino": "Destino",
    "parte": "Parte",
    "apresentada_bruto": "Apresentada (bruto)",
    "apresentada_em": "Apresentada em",
    "concluida_bruto": "Concluída (bruto)",
    "concluida_em": "Concluída em",
    "chave": "Chave de deduplicação",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemExperimentado:
    """Um item do payload: os campos lidos, ou que exceção abriria e por quê."""

    titulo: str
    cor: str
    linhas: list[Linha]
    notas: list[str]
    extras: str


def experimentar(
    integracao: Integracao, *, corpo: str, consulta: str, cabecalhos: str, agora: datetime
) -> list[ItemExperimentado]:
    """Lê a chamada com o formato e o fuso da integração; devolve o que cada item viraria."""
    por_get = bool(consulta.strip()) and not corpo.strip()
    chamada = Chamada(
        metodo="GET" if por_get and "GET" in integracao.formato_lido.metodos else "POST",
        url="",
        consulta=consulta.strip().lstrip("?").encode("utf-8", "surrogatepass"),
        cabecalhos=ler_cabecalhos(cabecalhos),
        corpo=corpo.encode("utf-8", "surrogatepass"),
    )
    recepcao = RecepcaoLida(id=0, integracao_id=integracao.pk, recebida_em=agora, chamada=chamada)
    itens = ler_recepcao(recepcao, Elenco([integracao.pk]).vista(integracao.pk))
    return _mostrar(itens[:ITENS_MOSTRADOS])


def ler_cabecalhos(texto: str) -> dict[str, str]:
    """`Nome: valor` por linha → dicionário de nomes em minúsculas; a linha sem `:` é ignorada."""
    pares = (linha.partition(":") for linha in texto.splitlines() if ":" in linha)
    return {nome.strip().lower(): valor.strip() for nome, _, valor in pares}


def _mostrar(itens: Sequence[ItemLido]) -> list[ItemExperimentado]:
    return [_ilegivel(item) if item.linha is None else _legivel(item.linha) for item in itens]


def _ilegivel(item: ItemLido) -> ItemExperimentado:
    assert item.ilegivel is not None
    return ItemExperimentado(
        titulo=f"Abriria a exceção “{TipoDeExcecao(item.ilegivel.motivo.value).label}”",
        cor="danger",
        linhas=[Linha(rotulo="Por quê", valor=neutralizar(item.ilegivel.detalhe))],
        notas=[],
        extras=neutralizar(item.ilegivel.bruto),
    )


def _legivel(linha: dict[str, Any]) -> ItemExperimentado:
    mapeado = linha["estado"] is not None
    return ItemExperimentado(
        titulo=f"Recibo: {linha['estado']}" if mapeado else "Recibo com estado que não está na tabela",
        cor="success" if mapeado else "warning",
        linhas=[
            Linha(rotulo=rotulo, valor=_valor(linha[campo]))
            for campo, rotulo in CAMPOS.items()
            if linha[campo] is not None
        ],
        notas=[neutralizar(str(nota)) for nota in linha["notas"]],
        extras=escrever_json(linha["extras"]) if linha["extras"] else "",
    )


def _valor(valor: Any) -> Any:
    if isinstance(valor, bool):
        return "sim" if valor else "não"
    return mostrar_instante(valor) if isinstance(valor, datetime) else neutralizar(str(valor))
