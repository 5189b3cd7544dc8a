"""O corpo de um POST de capturas: o lote em JSON e onde está cada recorte. Puro."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from ingestao.capturas.campos import ler_uuid
from ingestao.capturas.partes import PartesIlegiveis, Trecho, ler_partes, ler_separador
from ingestao.eventos.corpo import CorpoRecusado, ler_json

CORPO_MAXIMO_BYTES = 16 * 1024 * 1024  # protocolo das capturas; é o teto da porta para a rota
PREFIXO_DO_RECORTE = "recorte-"


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpoLido:
    """O lote ainda cru e os recortes, cada um como um trecho de `corpo`; `partes_soltas` são as sem sentido."""

    corpo: bytes
    lote: Any
    recortes: Mapping[UUID, Trecho]
    partes_soltas: int


def ler_corpo(corpo: bytes, tipo_de_conteudo: str, codificacao: str = "") -> CorpoLido:
    """Lê multipart (parte `lote` e partes `recorte-<id_evento>`) ou o lote em JSON puro.

    Levanta `CorpoRecusado`: 413 acima do teto, 415 comprimido, 400 `corpo_ilegivel` para o que não se lê.
    """
    if len(corpo) > CORPO_MAXIMO_BYTES:
        raise CorpoRecusado(413, "corpo_grande", "O corpo passa de 16 MiB; divida o lote ao meio.")
    if codificacao.strip().lower() not in ("", "identity"):
        raise CorpoRecusado(415, "codificacao_desconhecida", "Mande sem Content-Encoding.")
    try:
        separador = ler_separador(tipo_de_conteudo)
        if separador is None:
            return CorpoLido(corpo=b"", lote=_ler_lote(corpo), recortes={}, partes_soltas=0)
        return _separar(corpo, ler_partes(corpo, separador))
    except PartesIlegiveis as erro:
        raise CorpoRecusado(400, "corpo_ilegivel", f"O multipart não se lê: {erro}.") from erro


def _separar(corpo: bytes, partes: Mapping[str, Trecho]) -> CorpoLido:
    if "lote" not in partes:
        raise PartesIlegiveis("falta a parte “lote”")
    recortes: dict[UUID, Trecho] = {}
    soltas = 0
    for nome, trecho in partes.items():
        id_evento = (
            ler_uuid(nome.removeprefix(PREFIXO_DO_RECORTE)) if nome.startswith(PREFIXO_DO_RECORTE) else None
        )
        if id_evento is not None:
            recortes[id_evento] = trecho
        elif nome != "lote":
            soltas += 1
    lote = partes["lote"]
    return CorpoLido(
        corpo=corpo, lote=_ler_lote(corpo[lote.inicio : lote.fim]), recortes=recortes, partes_soltas=soltas
    )


def _ler_lote(texto: bytes) -> Any:
    try:
        return ler_json(texto, com_constantes=True, exato=True)
    except CorpoRecusado as erro:
        raise CorpoRecusado(400, "corpo_ilegivel", "O lote não é JSON em UTF-8 que se possa ler.") from erro
