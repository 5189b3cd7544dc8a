"""O evento lido e a sua imagem viram a linha que se grava, ou um inválido com o motivo. Puro."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson

from ingestao.capturas.corpo import CorpoLido
from ingestao.capturas.leitura import EventoInvalido, EventoLido, resumir_conteudo, suspeitar_da_hora
from ingestao.capturas.recortes import Recorte, RecorteInvalido, ler_recorte


@dataclass(frozen=True, slots=True, kw_only=True)
class Pronta:
    """Um evento que serve, com a imagem conferida: `resumo` é a identidade, `linha` o que se grava."""

    evento: EventoLido
    id: str
    resumo: str
    linha: dict[str, Any]


def preparar(item: EventoLido | EventoInvalido, lido: CorpoLido, agora: datetime) -> Pronta | EventoInvalido:
    """Junta o evento com a sua imagem; o que não serve vira inválido, com o motivo."""
    if isinstance(item, EventoInvalido):
        return item
    trecho = lido.recortes.get(item.id_evento)
    recorte: Recorte | None = None
    try:
        if trecho is not None:
            recorte = ler_recorte(memoryview(lido.corpo)[trecho.inicio : trecho.fim])
        elif item.caixa is not None and not item.sem_recorte:
            raise RecorteInvalido(
                "recorte_ausente", "Há `caixa`, mas não veio a parte do recorte nem `sem_recorte`."
            )
    except RecorteInvalido as erro:
        return EventoInvalido(
            indice=item.indice, id_evento=item.id_evento, codigo=erro.codigo, detalhe=erro.detalhe
        )
    resumo = resumir_conteudo(item, recorte.sha256 if recorte else None)
    linha = _montar_linha(item, recorte, resumo, suspeitar_da_hora(item, agora))
    linha["recorte_inicio"] = trecho.inicio if trecho is not None else None
    return Pronta(evento=item, id=str(item.id_evento), resumo=resumo, linha=linha)


def _montar_linha(
    evento: EventoLido, recorte: Recorte | None, resumo: str, hora_suspeita: str
) -> dict[str, Any]:
    quadro, caixa = evento.quadro, evento.caixa
    linha: dict[str, Any] = {
        "id_evento": evento.id_evento,
        "capturado_em": evento.capturado_em,
        "idade_ms": evento.idade_ms,
        "hora_suspeita": hora_suspeita,
        "seq": evento.seq,
        "payload": orjson.Fragment(evento.payload),
        "sem_recorte": evento.sem_recorte if recorte is None else "",
        "conteudo_resumo": resumo,
        "maior_tentativa": evento.tentativa,
    }
    if quadro is not None:
        linha |= {
            "quadro_largura": quadro.largura,
            "quadro_altura": quadro.altura,
            "quadro_bytes": quadro.bytes,
            "quadro_sha256": quadro.sha256,
            "quadro_expira_em": quadro.expira_em,
        }
    if caixa is not None:
        linha |= {
            "caixa_x": caixa.x,
            "caixa_y": caixa.y,
            "caixa_largura": caixa.largura,
            "caixa_altura": caixa.altura,
            "caixa_margem": caixa.margem,
        }
    if recorte is not None:
        linha |= {
            "recorte_bytes": recorte.bytes,
            "recorte_largura": recorte.largura,
            "recorte_altura": recorte.altura,
            "recorte_sha256": recorte.sha256,
        }
    return linha
