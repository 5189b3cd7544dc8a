"""O SQL do fluxo dos sites. Cada função é uma ida ao banco, repetível, dentro da transação de quem chama.

Ordem das travas em toda transação do worker, sempre com as chaves ordenadas: sessões novas, eventos, erros,
sessões, aplicativos, uso, recusas. Dois workers com os mesmos eventos em ordens contrárias dariam impasse uma
vez em dez, mesmo com DO NOTHING; ordenados, nunca. As sessões são seguradas desde o começo (ninguém as apaga),
mas só travadas quando é hora de somar nelas: dois workers com lotes da mesma sessão gravam eventos ao mesmo tempo.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple
from uuid import UUID

import orjson
from django.db import IntegrityError, transaction

from config.banco.cursor import cursor_direto
from ingestao.eventos.copia import montar_copia

# Uma ida: em autocommit, o INSERT é a transação inteira, e só se responde depois do COMMIT dele. Os vetores vão
# em binário (`%b`): em texto, os bytes viajariam em dobro.
SQL_GRAVAR_LOTES = """
    INSERT INTO ingestao_lote (recebido_em, peso, aplicativo_id, conteudo, recusas)
    SELECT recebido_em, peso, aplicativo_id, conteudo, recusas::jsonb
    FROM unnest(%b::timestamptz[], %b::integer[], %b::uuid[], %b::bytea[], %b::text[])
        AS r(recebido_em, peso, aplicativo_id, conteudo, recusas)
"""

# Índice: sessao_unica_no_aplicativo. As existentes não são tocadas aqui.
SQL_CRIAR_SESSOES = """
    INSERT INTO ingestao_sessao (
        aplicativo_id, sessao_externa, anonimo_id, usuario_id, navegador, sistema_operacional, dispositivo,
        resolucao, pagina_inicial, pais, primeira_atividade_em, ultima_atividade_em, criado_em
    )
    SELECT r.aplicativo_id, r.sessao_externa, r.anonimo_id, r.usuario_id, r.navegador, r.sistema_operacional,
        r.dispositivo, r.resolucao, r.pagina_inicial, r.pais, r.primeira_atividade_em, r.ultima_atividade_em,
        r.criado_em
    FROM json_to_recordset(%(linhas)s::json) AS r(
        aplicativo_id uuid, sessao_externa text, anonimo_id text, usuario_id text, navegador text,
        sistema_operacional text, dispositivo text, resolucao text, pagina_inicial text, pais text,
        primeira_atividade_em timestamptz, ultima_atividade_em timestamptz, criado_em timestamptz
    )
    ORDER BY r.aplicativo_id, r.sessao_externa
    ON CONFLICT (aplicativo_id, sessao_externa) DO NOTHING
"""

# KEY SHARE só impede que a retenção apague a sessão antes dos eventos dela; não faz um worker esperar por outro.
SQL_SEGURAR_SESSOES = """
    SELECT s.id, s.aplicativo_id::text, s.sessao_externa
    FROM ingestao_sessao s
    JOIN json_to_recordset(%(linhas)s::json) AS r(aplicativo_id uuid, sessao_externa text)
        ON s.aplicativo_id = r.aplicativo_id AND s.sessao_externa = r.sessao_externa
    ORDER BY s.aplicativo_id, s.sessao_externa FOR KEY SHARE OF s
"""

# Antes de somar, e não no próprio UPDATE: assim a soma já parte da linha que o outro worker acabou de gravar.
SQL_TRAVAR_SESSOES = """
    SELECT s.id FROM ingestao_sessao s
    JOIN json_to_recordset(%(linhas)s::json) AS r(id bigint) ON s.id = r.id
    ORDER BY s.id FOR NO KEY UPDATE OF s
"""

COLUNAS_DO_EVENTO = {
    "id": "uuid",
    "aplicativo_id": "uuid",
    "sessao_id": "bigint",
    "erro_id": "uuid",
    "evento_id": "text",
    "tipo": "text",
    "nome": "text",
    "mensagem": "text",
    "pilha": "text",
    "arquivo": "text",
    "linha": "integer",
    "coluna": "integer",
    "url": "text",
    "metodo": "text",
    "status": "integer",
    "duracao_ms": "double precision",
    "nivel": "text",
    "seletor": "text",
    "texto": "text",
    "metrica": "text",
    "valor": "double precision",
    "usuario_id": "text",
    "payload": "jsonb",
    "campos_descartados": "text",
    "ocorrido_em": "timestamptz",
    "ocorrido_em_original": "text",
    "criado_em": "timestamptz",
}
_COLUNAS = ", ".join(COLUNAS_DO_EVENTO)

# O caminho de muitos: o COPY grava a página inteira de uma vez e não confere conflito linha a linha; custa ao banco
# metade do INSERT. Os que já existem saem antes; se outro worker gravar um deles nesse meio, o COPY falha inteiro e
# o INSERT, que sabe conviver com isso, faz o trabalho.
COPIA_A_PARTIR_DE = 200  # linhas; abaixo disto as três idas a mais custam mais que o INSERT
COLUNAS_DA_COPIA = {
    "textos": [c for c, tipo in COLUNAS_DO_EVENTO.items() if tipo in ("text", "uuid", "timestamptz")],
    "numeros": [
        c for c, tipo in COLUNAS_DO_EVENTO.items() if tipo in ("bigint", "integer", "double precision")
    ],
    "objetos": [c for c, tipo in COLUNAS_DO_EVENTO.items() if tipo == "jsonb"],
}
SQL_JA_GRAVADOS = "SELECT id::text FROM ingestao_evento WHERE id = ANY(%(ids)s::uuid[])"
SQL_COPIAR_EVENTOS = f"COPY ingestao_evento ({', '.join(chain(*COLUNAS_DA_COPIA.values()))}) FROM STDIN"

# O caminho de poucos, e dos que podem existir: um vetor JSON só, expandido no servidor.
SQL_GRAVAR_EVENTOS = f"""
    INSERT INTO ingestao_evento ({_COLUNAS})
    SELECT {_COLUNAS}
    FROM json_to_recordset(%(linhas)s::json) AS r({", ".join(f"{c} {t}" for c, t in COLUNAS_DO_EVENTO.items())})
    ORDER BY id
    ON CONFLICT (id) DO NOTHING
    RETURNING id::text
"""

# Só um erro resolvido antes de o lote chegar regride: o que já estava na fila não é notícia.
SQL_SOMAR_ERROS = """
    INSERT INTO ingestao_erro AS e (
        id, aplicativo_id, impressao, versao, tipo, titulo, local, quantidade,
        primeira_ocorrencia_em, ultima_ocorrencia_em, estado, regressoes
    )
    SELECT r.id, r.aplicativo_id, r.impressao, r.versao, r.tipo, r.titulo, r.local, r.quantidade,
        r.primeira_ocorrencia_em, r.ultima_ocorrencia_em, 'aberto', 0
    FROM json_to_recordset(%(linhas)s::json) AS r(
        id uuid, aplicativo_id uuid, impressao text, versao smallint, tipo text, titulo text, local text,
        quantidade bigint, primeira_ocorrencia_em timestamptz, ultima_ocorrencia_em timestamptz
    )
    ORDER BY r.id
    ON CONFLICT (id) DO UPDATE SET
        quantidade = e.quantidade + excluded.quantidade,
        primeira_ocorrencia_em = least(e.primeira_ocorrencia_em, excluded.primeira_ocorrencia_em),
        ultima_ocorrencia_em = greatest(e.ultima_ocorrencia_em, excluded.ultima_ocorrencia_em)
"""
SQL_REABRIR_ERROS = """
    UPDATE ingestao_erro e
    SET estado = 'aberto', regressoes = regressoes + 1, regrediu_em = r.recebido_em
    FROM json_to_recordset(%(linhas)s::json) AS r(id uuid, recebido_em timestamptz)
    WHERE e.id = r.id AND e.estado = 'resolvido' AND r.recebido_em > e.resolvido_em
    RETURNING e.id
"""

# Vale o evento mais recente, não o último a chegar; no empate, o maior texto: a ordem não importa.
# COLLATE "C" desempata como o Python desempata dentro da transação: por ponto de código.
SQL_SOMAR_SESSOES = """
    UPDATE ingestao_sessao s SET
        quantidade_eventos = s.quantidade_eventos + r.eventos,
        quantidade_erros = s.quantidade_erros + r.erros,
        primeira_atividade_em = least(s.primeira_atividade_em, r.primeira_atividade_em),
        ultima_atividade_em = greatest(s.ultima_atividade_em, r.ultima_atividade_em),
        usuario_id = CASE
            WHEN (r.identificado_em, r.usuario_id COLLATE "C") > (s.identificado_em, s.usuario_id)
            OR (r.identificado_em IS NOT NULL AND s.identificado_em IS NULL)
            THEN r.usuario_id ELSE s.usuario_id END,
        identificado_em = greatest(s.identificado_em, r.identificado_em),
        tempo_carregamento_ms = CASE
            WHEN (r.carregamento_em, r.tempo_carregamento_ms) > (s.carregamento_em, s.tempo_carregamento_ms)
            OR (r.carregamento_em IS NOT NULL AND s.carregamento_em IS NULL)
            THEN r.tempo_carregamento_ms ELSE s.tempo_carregamento_ms END,
        carregamento_em = greatest(s.carregamento_em, r.carregamento_em)
    FROM json_to_recordset(%(linhas)s::json) AS r(
        id bigint, eventos bigint, erros bigint, primeira_atividade_em timestamptz,
        ultima_atividade_em timestamptz, usuario_id text, identificado_em timestamptz,
        tempo_carregamento_ms double precision, carregamento_em timestamptz
    )
    WHERE s.id = r.id
"""

SQL_MARCAR_PRIMEIRO_EVENTO = """
    WITH alvo AS (
        SELECT a.id, r.primeiro_evento_em
        FROM ingestao_aplicativo a
        JOIN json_to_recordset(%(linhas)s::json) AS r(id uuid, primeiro_evento_em timestamptz) USING (id)
        WHERE a.primeiro_evento_em IS NULL
        ORDER BY a.id FOR NO KEY UPDATE OF a
    )
    UPDATE ingestao_aplicativo a SET primeiro_evento_em = alvo.primeiro_evento_em
    FROM alvo WHERE a.id = alvo.id
"""

SQL_SOMAR_USO = """
    INSERT INTO ingestao_uso AS u (aplicativo_id, dia, quantidade_eventos, quantidade_recusados)
    SELECT r.aplicativo_id, r.dia, r.eventos, r.recusados
    FROM json_to_recordset(%(linhas)s::json) AS r(aplicativo_id uuid, dia date, eventos bigint, recusados bigint)
    ORDER BY r.aplicativo_id, r.dia
    ON CONFLICT (aplicativo_id, dia) DO UPDATE SET
        quantidade_eventos = u.quantidade_eventos + excluded.quantidade_eventos,
        quantidade_recusados = u.quantidade_recusados + excluded.quantidade_recusados
"""

SQL_SOMAR_RECUSAS = """
    INSERT INTO ingestao_recusa AS c (aplicativo_id, dia, motivo, quantidade_requisicoes, quantidade_eventos)
    SELECT r.aplicativo_id, r.dia, r.motivo, r.requisicoes, r.eventos
    FROM json_to_recordset(%(linhas)s::json) AS r(
        aplicativo_id uuid, dia date, motivo text, requisicoes bigint, eventos bigint
    )
    ORDER BY r.aplicativo_id, r.dia, r.motivo
    ON CONFLICT (aplicativo_id, dia, motivo) DO UPDATE SET
        quantidade_requisicoes = c.quantidade_requisicoes + excluded.quantidade_requisicoes,
        quantidade_eventos = c.quantidade_eventos + excluded.quantidade_eventos
"""

# O uso já foi somado nesta transação, e a linha de uso está travada: o cruzamento é visto uma vez só.
SQL_AVISAR_FRANQUIA = """
    INSERT INTO ingestao_avisofranquia (aplicativo_id, periodo, percentual, quantidade, franquia, criado_em)
    SELECT a.id, r.periodo, p.percentual, t.total, a.franquia, %(agora)s
    FROM json_to_recordset(%(linhas)s::json) AS r(aplicativo_id uuid, periodo date)
    JOIN ingestao_aplicativo a ON a.id = r.aplicativo_id AND a.franquia IS NOT NULL
    CROSS JOIN LATERAL (
        SELECT coalesce(sum(u.quantidade_eventos), 0) AS total FROM ingestao_uso u
        WHERE u.aplicativo_id = a.id AND u.dia >= r.periodo AND u.dia < r.periodo + interval '1 month'
    ) t
    CROSS JOIN unnest(%(percentuais)s::smallint[]) AS p(percentual)
    WHERE t.total * 100 >= a.franquia * p.percentual
    ORDER BY a.id, r.periodo, p.percentual
    ON CONFLICT (aplicativo_id, periodo, percentual) DO NOTHING
    RETURNING id
"""


class LoteNovo(NamedTuple):
    """Um lote por gravar na caixa. `recusas` é `{motivo: [requisições, eventos]}`."""

    recebido_em: datetime
    peso: int
    aplicativo_id: UUID | None
    conteudo: bytes | None
    recusas: dict[str, list[int]] | None


def gravar_lotes(lotes: Sequence[LoteNovo]) -> None:
    """Grava e confirma os lotes na caixa, num COMMIT só. Voltou sem exceção: estão todos no disco.

    Levanta o erro do banco, e então nenhum ficou. O cursor é o do psycopg, de parâmetros no servidor.
    """
    colunas = [list(coluna) for coluna in zip(*lotes, strict=True)]
    colunas[-1] = [None if recusas is None else orjson.dumps(recusas).decode() for recusas in colunas[-1]]
    with cursor_direto() as cursor:
        cursor.execute(SQL_GRAVAR_LOTES, colunas, prepare=True)


def criar_sessoes(linhas: Sequence[dict[str, Any]]) -> None:
    """Cria as sessões que faltam; as que existem ficam como estão."""
    _executar(SQL_CRIAR_SESSOES, linhas)


def segurar_sessoes(linhas: Sequence[dict[str, Any]]) -> dict[tuple[str, str], int]:
    """Impede que as sessões sejam apagadas até o fim da transação; devolve (aplicativo, externa) → id."""
    return {(aplicativo, externa): id_ for id_, aplicativo, externa in _executar(SQL_SEGURAR_SESSOES, linhas)}


def gravar_eventos(linhas: Sequence[dict[str, Any]]) -> set[str]:
    """Grava os eventos que ainda não existem; devolve os ids (texto) dos que entraram agora.

    Chamar dentro de uma transação. Os ids não se repetem em `linhas`.
    """
    if len(linhas) < COPIA_A_PARTIR_DE:
        return _inserir_eventos(linhas)
    with cursor_direto() as cursor:
        ids = [linha["id"] for linha in linhas]
        gravados = {id_ for (id_,) in cursor.execute(SQL_JA_GRAVADOS, {"ids": ids}, prepare=True)}
    novas = [linha for linha in linhas if linha["id"] not in gravados]
    if not novas:
        return set()
    try:
        _copiar_eventos(novas)
    except IntegrityError:  # outro worker gravou um deles depois da pergunta, e já confirmou
        return _inserir_eventos(linhas)
    return {linha["id"] for linha in novas}


def _inserir_eventos(linhas: Sequence[dict[str, Any]]) -> set[str]:
    return {id_ for (id_,) in _executar(SQL_GRAVAR_EVENTOS, linhas)}


def _copiar_eventos(linhas: Sequence[dict[str, Any]]) -> None:
    """Grava todos, em ordem de id, ou nenhum: levanta `IntegrityError` e a transação segue boa."""
    em_ordem = sorted(linhas, key=itemgetter("id"))
    with transaction.atomic(), cursor_direto() as cursor, cursor.copy(SQL_COPIAR_EVENTOS) as copia:
        copia.write(montar_copia(em_ordem, **COLUNAS_DA_COPIA))


def somar_erros(linhas: Sequence[dict[str, Any]]) -> None:
    """Cria ou soma os grupos de erro; as ocorrências só se alargam."""
    _executar(SQL_SOMAR_ERROS, linhas)


def reabrir_erros(linhas: Sequence[dict[str, Any]]) -> list[UUID]:
    """Reabre os resolvidos que voltaram a chegar; devolve os que regrediram."""
    return [id_ for (id_,) in _executar(SQL_REABRIR_ERROS, linhas)]


def somar_sessoes(linhas: Sequence[dict[str, Any]]) -> None:
    """Soma contadores e alarga os tempos das sessões."""
    _executar(SQL_TRAVAR_SESSOES, [{"id": linha["id"]} for linha in linhas])
    _executar(SQL_SOMAR_SESSOES, linhas)


def marcar_primeiro_evento(linhas: Sequence[dict[str, Any]]) -> None:
    """Preenche `primeiro_evento_em` onde está vazio."""
    _executar(SQL_MARCAR_PRIMEIRO_EVENTO, linhas)


def somar_uso(linhas: Sequence[dict[str, Any]]) -> None:
    """Soma eventos e recusados ao uso do dia."""
    _executar(SQL_SOMAR_USO, linhas)


def somar_recusas(linhas: Sequence[dict[str, Any]]) -> None:
    """Soma as recusas do dia, por motivo."""
    _executar(SQL_SOMAR_RECUSAS, linhas)


def avisar_franquia(
    linhas: Sequence[dict[str, Any]], percentuais: Iterable[int], agora: datetime
) -> list[int]:
    """Grava os avisos de franquia que faltam; devolve os ids dos novos."""
    return [
        id_ for (id_,) in _executar(SQL_AVISAR_FRANQUIA, linhas, percentuais=list(percentuais), agora=agora)
    ]


def _executar(sql: str, linhas: Sequence[dict[str, Any]], **parametros: Any) -> list[tuple]:
    """Uma ida ao banco com as linhas num vetor JSON; sem linhas, nenhuma ida."""
    if not linhas:
        return []
    with cursor_direto() as cursor:
        cursor.execute(sql, {"linhas": orjson.dumps(linhas).decode(), **parametros}, prepare=True)
        return cursor.fetchall() if cursor.description else []
