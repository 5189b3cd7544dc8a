"""Abrir e fechar exceções sem gente: a causa apareceu, a causa sumiu. O que pessoas fazem está em `excecoes.py`."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from config.banco.cursor import cursor_direto
from dlr.gravacao import consultar_por_ids, executar
from dlr.models import TipoDeExcecao

# A descartada fica descartada (uma pessoa já olhou esta mesma causa); a resolvida reabre se a causa voltou.
SQL_ABRIR = """
    WITH aberta AS (
        INSERT INTO dlr_excecao AS x (
            integracao_id, tipo, alvo, situacao, mensagem_id, evento_id, recepcao_id, detalhe, dicas,
            aberta_em, encerramento
        )
        SELECT integracao_id, tipo, alvo, 'aberta', mensagem_id, evento_id, recepcao_id, detalhe, dicas,
            aberta_em, ''
        FROM json_to_recordset(%(linhas)s::json) AS r(
            integracao_id bigint, tipo text, alvo text, mensagem_id bigint, evento_id bigint,
            recepcao_id bigint, detalhe text, dicas jsonb, aberta_em timestamptz
        )
        ORDER BY tipo COLLATE "C", alvo COLLATE "C"
        ON CONFLICT (tipo, alvo) DO UPDATE
            SET situacao = 'aberta', encerrada_em = NULL, encerramento = '', detalhe = excluded.detalhe
            WHERE x.situacao = 'resolvida'
        RETURNING id, aberta_em
    )
    INSERT INTO dlr_acaodeexcecao (excecao_id, acao, motivo, detalhes, feita_em)
    SELECT id, 'abrir', 'a causa apareceu', '{}', aberta_em FROM aberta
    RETURNING excecao_id
"""

SQL_FECHAR = """
    WITH alvo AS (
        SELECT x.id, r.motivo FROM dlr_excecao x
        JOIN json_to_recordset(%(linhas)s::json) AS r(tipo text, alvo text, motivo text)
            ON x.tipo = r.tipo AND x.alvo = r.alvo
        WHERE x.situacao = 'aberta'
        ORDER BY x.tipo COLLATE "C", x.alvo COLLATE "C" FOR NO KEY UPDATE OF x
    ), fechada AS (
        UPDATE dlr_excecao x SET situacao = 'resolvida', encerrada_em = %(agora)s, encerramento = alvo.motivo
        FROM alvo WHERE x.id = alvo.id RETURNING x.id, x.encerramento
    )
    INSERT INTO dlr_acaodeexcecao (excecao_id, acao, motivo, detalhes, feita_em)
    SELECT id, 'fechar', encerramento, '{}', %(agora)s FROM fechada
    RETURNING excecao_id
"""

# As abertas são poucas: perguntar por elas custa menos que tentar fechar todas as que podiam existir.
SQL_ABERTAS = """
    SELECT alvo, tipo FROM dlr_excecao WHERE situacao = 'aberta' AND mensagem_id = ANY(%(ids)s)
"""

DETALHE_CARACTERES = 1_000


def pendencia(
    tipo: TipoDeExcecao,
    alvo: str,
    integracao_id: int,
    agora: datetime,
    *,
    mensagem_id: int | None = None,
    evento_id: int | None = None,
    recepcao_id: int | None = None,
    detalhe: str = "",
    dicas: Iterable[dict[str, Any]] = (),
) -> dict[str, Any]:
    """A linha de uma exceção por abrir. `alvo` é o assunto: uma por tipo e alvo."""
    return {
        "tipo": tipo.value,
        "alvo": alvo,
        "integracao_id": integracao_id,
        "mensagem_id": mensagem_id,
        "evento_id": evento_id,
        "recepcao_id": recepcao_id,
        "detalhe": detalhe[:DETALHE_CARACTERES],
        "dicas": list(dicas),
        "aberta_em": agora,
    }


def abrir(linhas: Iterable[dict[str, Any]]) -> int:
    """Abre as que ainda não estão abertas; devolve quantas abriu agora."""
    unicas = {(linha["tipo"], linha["alvo"]): linha for linha in linhas}
    return len(executar(SQL_ABRIR, list(unicas.values())))


def buscar_abertas(mensagens: Sequence[int]) -> dict[str, list[TipoDeExcecao]]:
    """As exceções abertas destas mensagens, por alvo. Com as mensagens travadas, ninguém abre outra."""
    abertas: dict[str, list[TipoDeExcecao]] = defaultdict(list)
    for alvo, tipo in consultar_por_ids(SQL_ABERTAS, mensagens):
        abertas[alvo].append(TipoDeExcecao(tipo))
    return abertas


def fechar(alvos: Iterable[tuple[TipoDeExcecao, str, str]], agora: datetime) -> int:
    """Fecha as abertas porque a causa sumiu; devolve quantas. Cada uma é (tipo, alvo, por que se fechou)."""
    linhas = [{"tipo": tipo.value, "alvo": alvo, "motivo": motivo} for tipo, alvo, motivo in alvos]
    if not linhas:
        return 0
    parametros = {"linhas": orjson.dumps(linhas).decode(), "agora": agora}
    with cursor_direto() as cursor:
        return len(cursor.execute(SQL_FECHAR, parametros).fetchall())


def alvo_do_evento(evento_id: int) -> str:
    return f"evento:{evento_id}"


def alvo_da_mensagem(mensagem_id: int) -> str:
    return f"mensagem:{mensagem_id}"


def alvo_da_ocorrencia(recepcao_id: int, indice: int) -> str:
    return f"ocorrencia:{recepcao_id}#{indice}"


def alvo_da_reutilizacao(evento_id: int, conteudo: str) -> str:
    return f"evento:{evento_id}#{conteudo[:32]}"
