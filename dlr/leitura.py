"""Da recepção crua às linhas a gravar: lê com o formato da integração e prepara cada item. Sem banco."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import NoneType
from typing import Any
from zoneinfo import ZoneInfo

import orjson

from dlr.dominio.chave import decidir_chave
from dlr.dominio.correlacao import casavel
from dlr.dominio.recibo import Chamada, Ilegivel, MotivoIlegivel, Recibo, Tempo
from dlr.formatos.contrato import Contexto, Formato

ID_CARACTERES = 200  # um id cortado seria outro id: acima disto o recibo é parcial
CORTES = {"estado_bruto": 200, "codigo_erro": 200, "origem": 200, "destino": 200}
DATA_CARACTERES = 100
DETALHE_CARACTERES = 500
SUBSTITUTO = "\ufffd"
_SEM_TEXTO = frozenset({NoneType, bool, int, float, datetime})  # quase tudo numa linha: nada a percorrer
# Um leitor que não acha item nenhum não pode fazer a recepção sumir calada.
NADA_LIDO = Ilegivel(
    motivo=MotivoIlegivel.FORMATO_NAO_RECONHECIDO, detalhe="o leitor não achou recibo nenhum"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegracaoVista:
    """O que o processamento precisa saber de uma integração, com a versão de regras em vigor."""

    id: int
    formato: Formato
    fuso: str
    janela_espera_s: int
    versao_das_regras: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecepcaoLida:
    """Uma recepção como o banco a guarda."""

    id: int
    integracao_id: int
    recebida_em: datetime
    chamada: Chamada


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemLido:
    """Um item de uma recepção: a linha do evento lógico, ou por que não há evento.

    `linha` tem as colunas de `EventoLogico`; None com `ilegivel` preenchido.
    """

    recepcao: RecepcaoLida
    indice: int
    versao_do_leitor: int
    linha: dict[str, Any] | None
    ilegivel: Ilegivel | None
    do_fornecedor: bool = False


def ler_recepcao(recepcao: RecepcaoLida, integracao: IntegracaoVista) -> list[ItemLido]:
    """Lê todos os itens de uma recepção; o que não se lê vem como `ilegivel`, sem estragar os vizinhos."""
    contexto = Contexto(fuso=ZoneInfo(integracao.fuso))
    itens = integracao.formato.ler(recepcao.chamada, contexto) or [NADA_LIDO]
    return [_preparar(item, indice, recepcao, integracao) for indice, item in enumerate(itens)]


def _preparar(
    item: Recibo | Ilegivel, indice: int, recepcao: RecepcaoLida, integracao: IntegracaoVista
) -> ItemLido:
    ilegivel = item if isinstance(item, Ilegivel) else _parcial(item)
    if ilegivel is not None or isinstance(item, Ilegivel):
        return ItemLido(
            recepcao=recepcao,
            indice=indice,
            versao_do_leitor=integracao.formato.versao,
            linha=None,
            ilegivel=ilegivel,
        )
    return ItemLido(
        recepcao=recepcao,
        indice=indice,
        versao_do_leitor=integracao.formato.versao,
        linha=_linha(item, indice, recepcao, integracao),
        ilegivel=None,
        do_fornecedor=item.id_evento is not None,
    )


def _parcial(recibo: Recibo) -> Ilegivel | None:
    """Um recibo sem id ou sem estado não diz nada de ninguém; fica como evidência e exceção."""
    if recibo.estado_bruto is None:
        falta = "não traz estado"
    elif not casavel(recibo.id_externo):
        falta = f"não traz id utilizável ({recibo.id_externo!r})"
    elif len(recibo.id_externo or "") > ID_CARACTERES:
        falta = f"traz id de mais de {ID_CARACTERES} caracteres"
    else:
        return None
    return Ilegivel(
        motivo=MotivoIlegivel.RECIBO_PARCIAL, detalhe=f"o recibo {falta}", bruto=str(recibo.extras)
    )


def _linha(
    recibo: Recibo, indice: int, recepcao: RecepcaoLida, integracao: IntegracaoVista
) -> dict[str, Any]:
    chave = decidir_chave(recibo)
    esperar_ate = recepcao.recebida_em + timedelta(seconds=integracao.janela_espera_s)
    linha: dict[str, Any] = {
        "integracao_id": integracao.id,
        "chave": chave.chave,
        "conteudo": chave.conteudo,
        "componentes": [list(par) for par in chave.componentes],
        "versao_da_chave": chave.versao,
        "recepcao_id": recepcao.id,
        "indice": indice,
        "recebido_em": recepcao.recebida_em,
        "id_externo": recibo.id_externo,
        "estado_bruto": recibo.estado_bruto,
        "estado": recibo.estado,
        "final": recibo.final,
        "codigo_erro": recibo.codigo_erro,
        "origem": recibo.origem,
        "destino": recibo.destino,
        "parte": recibo.parte if recibo.parte is not None and 0 <= recibo.parte < 32_768 else None,
        **_tempo("apresentada", recibo.apresentada),
        **_tempo("concluida", recibo.concluida),
        "notas": list(recibo.notas),
        "extras": dict(recibo.extras),
        "correlacao": "esperando",
        "esperar_ate": esperar_ate,
        "versao_do_leitor": integracao.formato.versao,
        "versao_das_regras": integracao.versao_das_regras,
    }
    for campo, limite in CORTES.items():
        if linha[campo] is not None:
            linha[campo] = linha[campo][:limite]
    return _limpar_linha(linha)


def _limpar_linha(linha: dict[str, Any]) -> dict[str, Any]:
    """Limpa a linha. Quase nenhuma precisa, e o orjson diz isso dez vezes mais depressa que olhar campo a campo."""
    for campo in (
        "notas",
        "extras",
    ):  # podem trazer tuplas e mapas do leitor; guarda-se o que o banco devolveria
        linha[campo] = limpar(linha[campo])
    try:
        if b"\\u0000" not in orjson.dumps(linha):
            return linha
    except TypeError:  # metade de emoji, ou um tipo que só `limpar` conhece
        pass
    return {campo: limpar(valor) for campo, valor in linha.items()}


def _tempo(nome: str, tempo: Tempo | None) -> dict[str, Any]:
    return {
        f"{nome}_bruto": tempo.bruto[:DATA_CARACTERES] if tempo else None,
        f"{nome}_em": tempo.em if tempo else None,
    }


def limpar(valor: Any) -> Any:
    """Troca por U+FFFD o que o PostgreSQL não guarda (NUL, metade de emoji); os bytes crus estão na recepção."""
    tipo = type(valor)
    if tipo is str:
        if "\x00" in valor:
            valor = valor.replace("\x00", SUBSTITUTO)
        return (
            valor if valor.isascii() else valor.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        )
    if tipo in _SEM_TEXTO:
        return valor
    if isinstance(valor, str):  # estados são StrEnum
        return limpar(str(valor))
    if isinstance(valor, Mapping):
        return {limpar(str(chave)): limpar(item) for chave, item in valor.items()}
    if isinstance(valor, list | tuple):
        return [limpar(item) for item in valor]
    return valor
