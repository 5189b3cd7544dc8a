"""A mensagem explicada e o relatório: aceitação, estado do DLR e verificação são três coisas."""

import base64
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Q

from dlr.cofre import mascarar_segredos
from dlr.models import EventoLogico, Excecao, Mensagem, Ocorrencia, Projecao

OCORRENCIAS_MOSTRADAS = 1_000

SQL_RELATORIO = """
    SELECT i.slug,
        CASE m.aceita WHEN true THEN 'aceita' WHEN false THEN 'recusada' ELSE 'desconhecida' END AS aceitacao,
        coalesce(p.estado, 'SEM_RECIBO') AS estado, coalesce(p.final, false) AS final,
        EXISTS (SELECT 1 FROM dlr_verificacao v WHERE v.mensagem_id = m.id) AS verificada,
        count(*) AS quantidade
    FROM dlr_mensagem m
    JOIN dlr_integracao i ON i.id = m.integracao_id
    LEFT JOIN dlr_projecao p ON p.mensagem_id = m.id
    WHERE m.integracao_id = %(integracao_id)s AND m.criada_em >= %(de)s AND m.criada_em < %(ate)s
    GROUP BY 1, 2, 3, 4, 5
    ORDER BY 1, 2, 3, 4, 5
"""
COLUNAS_DO_RELATORIO = ("integracao", "aceitacao", "estado_dlr", "final", "verificada", "quantidade")


def buscar_mensagem(integracao_id: int, mensagem_id: int) -> dict[str, Any] | None:
    """A mensagem de uma integração, com o estado, o porquê e a história inteira; None se não é dela."""
    mensagem = (
        Mensagem.objects.filter(pk=mensagem_id, integracao_id=integracao_id)
        .select_related("projecao")
        .prefetch_related("identificadores", "verificacoes", "decisoes", "mudancas")
        .first()
    )
    if mensagem is None:
        return None
    eventos = list(EventoLogico.objects.filter(mensagem=mensagem).order_by("recepcao_id", "indice"))
    return {
        "mensagem": _mensagem(mensagem),
        "aceitacao": {"aceita": mensagem.aceita, "apresentada_em": mensagem.apresentada_em},
        "dlr": _projecao(getattr(mensagem, "projecao", None), eventos),
        "verificacao_independente": [
            {
                "origem": v.origem,
                "ocorrida_em": v.ocorrida_em,
                "detalhe": v.detalhe,
                "registrada_em": v.registrada_em,
            }
            for v in mensagem.verificacoes.all()
        ],
        "eventos": [_evento(evento) for evento in eventos],
        "recepcoes": _recepcoes(eventos),
        "decisoes": [
            {"estado": d.estado, "parte": d.parte, "motivo": d.motivo, "decidida_em": d.decidida_em}
            for d in mensagem.decisoes.all()
        ],
        "reprojecoes": [
            {
                "de": m.de_estado,
                "para": m.para_estado,
                "regras": [m.de_regras, m.para_regras],
                "mudou_em": m.mudou_em,
            }
            for m in mensagem.mudancas.all()
        ],
        "excecoes": list(
            Excecao.objects.filter(Q(mensagem=mensagem) | Q(evento__in=eventos))
            .order_by("id")
            .values("id", "tipo", "situacao", "aberta_em", "encerrada_em", "encerramento")
        ),
    }


def _mensagem(mensagem: Mensagem) -> dict[str, Any]:
    return {
        "id": mensagem.pk,
        "id_interno": mensagem.id_interno,
        "ids_externos": [{"valor": i.valor, "parte": i.parte} for i in mensagem.identificadores.all()],
        "origem": mensagem.origem,
        "destino": mensagem.destino,
        "destino_e164": mensagem.destino_e164,
        "rota": mensagem.rota,
        "registered_delivery": mensagem.registered_delivery,
        "criada_em": mensagem.criada_em,
    }


def _projecao(projecao: Projecao | None, eventos: list[EventoLogico]) -> dict[str, Any]:
    """O estado comunicado pela mensageria: não prova que alguém leu."""
    papeis = [evento.papel for evento in eventos]
    return {
        "estado": projecao.estado if projecao else None,
        "final": projecao.final if projecao else False,
        "motivo": projecao.motivo if projecao else "sem_recibo",
        "sustentam": projecao.sustentam if projecao else [],
        "conflito": projecao.conflito if projecao else False,
        "partes_divergentes": projecao.divergente if projecao else False,
        "houve_tardios": "tardio" in papeis,
        "houve_repeticoes": any(evento.qtd_recepcoes > 1 for evento in eventos),
        "versao_das_regras": projecao.versao_das_regras if projecao else None,
        "atualizada_em": projecao.atualizada_em if projecao else None,
    }


def _evento(evento: EventoLogico) -> dict[str, Any]:
    return {
        "id": evento.pk,
        "chave": evento.chave,
        "recebido_em": evento.recebido_em,
        "id_externo": evento.id_externo,
        "estado_bruto": evento.estado_bruto,
        "estado": evento.estado,
        "codigo_erro": evento.codigo_erro,
        "parte": evento.parte,
        "apresentada": {"bruto": evento.apresentada_bruto, "em": evento.apresentada_em},
        "concluida": {"bruto": evento.concluida_bruto, "em": evento.concluida_em},
        "papel": evento.papel,
        "correlacao": evento.correlacao,
        "recepcoes": evento.qtd_recepcoes,
        "notas": evento.notas,
        "versao_do_leitor": evento.versao_do_leitor,
        "versao_das_regras": evento.versao_das_regras,
    }


def _recepcoes(eventos: list[EventoLogico]) -> list[dict[str, Any]]:
    """A evidência: cada recepção destes eventos, em ordem, com os bytes em base64."""
    ocorrencias = (
        Ocorrencia.objects.filter(evento__in=eventos)
        .select_related("recepcao")
        .order_by("recepcao_id", "indice")[:OCORRENCIAS_MOSTRADAS]
    )
    return [
        {
            "id": o.recepcao_id,
            "item": o.indice,
            "evento": o.evento_id,
            "repeticao": o.repeticao,
            "recebida_em": o.recepcao.recebida_em,
            "metodo": o.recepcao.metodo,
            "consulta": mascarar_segredos(bytes(o.recepcao.consulta).decode("latin-1")),
            "cabecalhos": o.recepcao.cabecalhos,
            "corpo_base64": base64.b64encode(bytes(o.recepcao.corpo)).decode(),
        }
        for o in ocorrencias
    ]


def relatar(integracao_id: int, de: datetime, ate: datetime) -> Iterator[tuple[Any, ...]]:
    """As contagens do período (pela criação da mensagem), nas colunas de `COLUNAS_DO_RELATORIO`."""
    with connection.cursor() as cursor:
        cursor.execute(SQL_RELATORIO, {"integracao_id": integracao_id, "de": de, "ate": ate})
        yield from cursor.fetchall()


# O que planilhas tomam por começo de fórmula; as formas de largura cheia, o Excel em línguas do leste também.
_COMECOS_DE_FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def neutralizar(celula: Any) -> str:
    """Uma célula de CSV que uma planilha não executa: o que começa como fórmula ganha um apóstrofo."""
    texto = str(celula)
    return f"'{texto}" if texto[:1] in _COMECOS_DE_FORMULA else texto
