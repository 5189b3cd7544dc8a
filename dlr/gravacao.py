"""O SQL dos recibos. Cada função é uma ida ao banco, dentro da transação de quem chama.

Ordem das travas, em todo caminho e sempre com as chaves ordenadas: mensagens, eventos (os novos e os que já
existiam), projeções, exceções. Quem já esperou por um evento ou por uma exceção não volta a esperar por mensagens:
é o que impede dois workers, ou um worker e uma pessoa, de se travarem.
"""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

import orjson

from config.banco.cursor import cursor_direto

# Uma ida e um COMMIT: a evidência e a promessa de aplicá-la nascem juntas, e as de um grupo inteiro também. Os
# vetores vão em binário (`%b`): em texto, os bytes viajariam em dobro.
SQL_GRAVAR_RECEPCOES = """
    WITH recepcao AS (
        INSERT INTO dlr_recepcao (integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo)
        SELECT integracao_id, recebida_em, metodo, url, consulta, cabecalhos::jsonb, corpo
        FROM unnest(%b::bigint[], %b::timestamptz[], %b::text[], %b::text[], %b::bytea[], %b::text[], %b::bytea[])
            AS r(integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo)
        RETURNING id, recebida_em, octet_length(corpo) AS tamanho
    )
    INSERT INTO dlr_recepcaopendente (recepcao_id, recebido_em, peso)
    SELECT id, recebida_em, 1 + tamanho / %b::integer FROM recepcao ORDER BY id
"""
PESO_POR_BYTES = 300  # um recibo ocupa cerca disto; o peso só limita a transação do worker

# O dia e o minuto numa ida só; a ordem das travas é a mesma em toda chamada.
SQL_CONTAR_RECUSAS = """
    WITH nova AS (
        SELECT integracao_id, dia, motivo, count(*) AS quantas
        FROM unnest(%b::bigint[], %b::date[], %b::text[]) AS n(integracao_id, dia, motivo)
        GROUP BY integracao_id, dia, motivo
    ), no_minuto AS (
        INSERT INTO dlr_recepcaoporminuto AS m (minuto, integracao_id, motivo, quantidade)
        SELECT date_trunc('minute', now()), integracao_id, motivo, sum(quantas) FROM nova
        GROUP BY integracao_id, motivo ORDER BY integracao_id, motivo
        ON CONFLICT (minuto, integracao_id, motivo) DO UPDATE SET quantidade = m.quantidade + excluded.quantidade
    )
    INSERT INTO dlr_recusadecallback AS r (integracao_id, dia, motivo, quantidade)
    SELECT integracao_id, dia, motivo, quantas FROM nova ORDER BY integracao_id, dia, motivo
    ON CONFLICT (integracao_id, dia, motivo) DO UPDATE SET quantidade = r.quantidade + excluded.quantidade
"""

SQL_LER_RECEPCOES = """
    SELECT id, integracao_id, recebida_em, metodo, url, consulta, cabecalhos, corpo
    FROM dlr_recepcao WHERE id = ANY(%(ids)s) ORDER BY id
"""

_COLUNAS_DO_EVENTO = {
    "id": "bigint",
    "integracao_id": "bigint",
    "chave": "text",
    "conteudo": "text",
    "componentes": "jsonb",
    "versao_da_chave": "smallint",
    "recepcao_id": "bigint",
    "indice": "integer",
    "recebido_em": "timestamptz",
    "id_externo": "text",
    "estado_bruto": "text",
    "estado": "text",
    "final": "boolean",
    "codigo_erro": "text",
    "origem": "text",
    "destino": "text",
    "parte": "smallint",
    "apresentada_bruto": "text",
    "apresentada_em": "timestamptz",
    "concluida_bruto": "text",
    "concluida_em": "timestamptz",
    "notas": "jsonb",
    "extras": "jsonb",
    "correlacao": "text",
    "esperar_ate": "timestamptz",
    "versao_do_leitor": "smallint",
    "versao_das_regras": "integer",
    "qtd_recepcoes": "integer",
    "mensagem_id": "bigint",
    "papel": "text",
}
# Quem grava pode já ter reservado o id (o papel e a projeção o citam); senão, nasce aqui.
_VALORES = {
    "id": "coalesce(id, nextval('dlr_eventologico_id_seq'))",
    "qtd_recepcoes": "coalesce(qtd_recepcoes, 0)",
}
_COLUNAS = ", ".join(_COLUNAS_DO_EVENTO)
_TIPOS = ", ".join(f"{coluna} {tipo}" for coluna, tipo in _COLUNAS_DO_EVENTO.items())

SQL_RESERVAR_IDS = """
    SELECT nextval('dlr_eventologico_id_seq') FROM generate_series(1, %(quantos)s)
"""

SQL_GRAVAR_EVENTOS = f"""
    INSERT INTO dlr_eventologico ({_COLUNAS})
    SELECT {", ".join(_VALORES.get(coluna, coluna) for coluna in _COLUNAS_DO_EVENTO)}
    FROM json_to_recordset(%(linhas)s::json) AS r({_TIPOS})
    ORDER BY integracao_id, chave COLLATE "C"
    ON CONFLICT (integracao_id, chave) DO NOTHING
    RETURNING id
"""

# Nunca na consulta do INSERT: em READ COMMITTED, uma nova vê também o que outro worker acabou de gravar.
SQL_BUSCAR_EVENTOS = """
    SELECT e.id, e.integracao_id, e.chave, e.conteudo, e.mensagem_id, e.recepcao_id, e.indice
    FROM dlr_eventologico e
    JOIN json_to_recordset(%(linhas)s::json) AS r(integracao_id bigint, chave text)
        ON e.integracao_id = r.integracao_id AND e.chave = r.chave
"""

# O evento novo já nasceu com a sua conta (`contadas`): só se regrava o que diferir do que entrou agora.
SQL_GRAVAR_OCORRENCIAS = """
    WITH nova AS (
        INSERT INTO dlr_ocorrencia (recepcao_id, indice, evento_id, repeticao, versao_do_leitor, ilegivel)
        SELECT recepcao_id, indice, evento_id, repeticao, versao_do_leitor, ilegivel
        FROM json_to_recordset(%(linhas)s::json) AS r(
            recepcao_id bigint, indice integer, evento_id bigint, repeticao boolean,
            versao_do_leitor smallint, ilegivel text
        )
        ORDER BY recepcao_id, indice
        ON CONFLICT (recepcao_id, indice) DO NOTHING
        RETURNING evento_id
    ), soma AS (
        SELECT evento_id, sum(quantas) AS quantas FROM (
            SELECT evento_id, 1 AS quantas FROM nova WHERE evento_id IS NOT NULL
            UNION ALL
            SELECT evento_id, -quantas
            FROM json_to_recordset(%(contadas)s::json) AS c(evento_id bigint, quantas integer)
        ) AS tudo GROUP BY evento_id HAVING sum(quantas) <> 0
    ), alvo AS MATERIALIZED (
        SELECT e.id, soma.quantas FROM dlr_eventologico e JOIN soma ON soma.evento_id = e.id
        ORDER BY e.id FOR NO KEY UPDATE OF e
    )
    UPDATE dlr_eventologico e SET qtd_recepcoes = e.qtd_recepcoes + alvo.quantas
    FROM alvo WHERE e.id = alvo.id
"""

# Dois workers podem aplicar a repetição antes da primeira recepção; a ordem que vale é a de recepção, que é
# também a de um reprocesso. Devolve os eventos mudados e a mensagem de cada um.
SQL_ANTECIPAR_EVENTOS = """
    UPDATE dlr_eventologico e SET recepcao_id = r.recepcao_id, indice = r.indice, recebido_em = r.recebido_em
    FROM json_to_recordset(%(linhas)s::json) AS r(
        id bigint, recepcao_id bigint, indice integer, recebido_em timestamptz
    )
    WHERE e.id = r.id AND (r.recepcao_id, r.indice) < (e.recepcao_id, e.indice)
    RETURNING e.id, e.mensagem_id
"""

# A ocorrência que se achava a primeira passa a repetição: a de verdade está sendo gravada agora.
SQL_DESMENTIR_PRIMEIRAS = """
    UPDATE dlr_ocorrencia SET repeticao = true WHERE evento_id = ANY(%(ids)s) AND NOT repeticao RETURNING id
"""

# Índice: identificador_por_valor. O id idêntico, que é quase sempre o caso.
SQL_BUSCAR_POR_VALOR = """
    SELECT i.integracao_id, i.mensagem_id, i.valor, i.parte
    FROM dlr_identificadorexterno i
    JOIN json_to_recordset(%(linhas)s::json) AS r(integracao_id bigint, id_externo text)
        ON i.integracao_id = r.integracao_id AND i.valor = r.id_externo
"""

# Índice: identificador_por_forma. Só para quem não achou o idêntico, ou cuja integração iguala formas.
SQL_BUSCAR_POR_FORMA = """
    SELECT r.id_externo, i.integracao_id, i.mensagem_id, i.valor, i.parte
    FROM json_to_recordset(%(linhas)s::json) AS r(integracao_id bigint, id_externo text, formas jsonb)
    CROSS JOIN LATERAL (
        SELECT i.integracao_id, i.mensagem_id, i.valor, i.parte FROM dlr_identificadorexterno i
        WHERE i.integracao_id = r.integracao_id
            AND i.formas && ARRAY(SELECT jsonb_array_elements_text(r.formas))
        LIMIT 20
    ) i
"""

# Espera quem estiver com o evento (não pula): pulá-lo deixaria por atar um recibo cuja mensagem já chegou.
# Duas relações só: com três, e a estatística de que quase nada está solto, o plano virava laço dentro de laço
# (7 milhões de pares em 2.700 recibos, 1 s contra 80 ms).
SQL_ATAR_EVENTOS = """
    WITH alvo AS MATERIALIZED (
        SELECT e.id, r.mensagem_id, r.parte, r.correlacao
        FROM json_to_recordset(%(linhas)s::json) AS r(
            id bigint, mensagem_id bigint, parte smallint, correlacao text
        )
        JOIN dlr_eventologico e ON e.id = r.id
        ORDER BY e.id FOR NO KEY UPDATE OF e
    )
    UPDATE dlr_eventologico e SET mensagem_id = alvo.mensagem_id, parte = coalesce(e.parte, alvo.parte),
        correlacao = alvo.correlacao, esperar_ate = NULL
    FROM alvo WHERE e.id = alvo.id AND e.mensagem_id IS NULL
    RETURNING e.id, e.mensagem_id
"""

SQL_TRAVAR_MENSAGENS = """
    SELECT id, integracao_id, aceita FROM dlr_mensagem WHERE id = ANY(%(ids)s) ORDER BY id FOR NO KEY UPDATE
"""

SQL_EVENTOS_DAS_MENSAGENS = """
    SELECT mensagem_id, id, recepcao_id, indice, estado, final, parte, papel FROM dlr_eventologico
    WHERE mensagem_id = ANY(%(ids)s) ORDER BY mensagem_id, recepcao_id, indice
"""

# Pelo ORM, dois mil ids viravam dois mil parâmetros escritos na consulta: um décimo do tempo do worker.
SQL_PARTES_DAS_MENSAGENS = """
    SELECT mensagem_id, parte FROM dlr_identificadorexterno WHERE mensagem_id = ANY(%(ids)s)
"""
SQL_DECISOES_DAS_MENSAGENS = """
    SELECT mensagem_id, parte, estado FROM dlr_decisaodefinal WHERE mensagem_id = ANY(%(ids)s) ORDER BY id
"""

SQL_GRAVAR_PROJECOES = """
    INSERT INTO dlr_projecao AS p (
        mensagem_id, estado, final, motivo, sustentam, conflito, divergente, versao_das_regras, atualizada_em
    )
    SELECT mensagem_id, estado, final, motivo, ARRAY(SELECT jsonb_array_elements_text(sustentam)::bigint),
        conflito, divergente, versao_das_regras, atualizada_em
    FROM json_to_recordset(%(linhas)s::json) AS r(
        mensagem_id bigint, estado text, final boolean, motivo text, sustentam jsonb, conflito boolean,
        divergente boolean, versao_das_regras integer, atualizada_em timestamptz
    )
    ORDER BY mensagem_id
    ON CONFLICT (mensagem_id) DO UPDATE SET
        estado = excluded.estado, final = excluded.final, motivo = excluded.motivo,
        sustentam = excluded.sustentam, conflito = excluded.conflito, divergente = excluded.divergente,
        versao_das_regras = excluded.versao_das_regras, atualizada_em = excluded.atualizada_em
    WHERE (p.estado, p.final, p.motivo, p.sustentam, p.conflito, p.divergente, p.versao_das_regras)
        IS DISTINCT FROM (excluded.estado, excluded.final, excluded.motivo, excluded.sustentam,
            excluded.conflito, excluded.divergente, excluded.versao_das_regras)
    RETURNING mensagem_id
"""

SQL_GRAVAR_PAPEIS = """
    UPDATE dlr_eventologico e SET papel = r.papel
    FROM json_to_recordset(%(linhas)s::json) AS r(id bigint, papel text) WHERE e.id = r.id
"""


class RecepcaoNova(NamedTuple):
    """Uma recepção por gravar. `url` já vai com o token mascarado; `cabecalhos`, só os que se guardam."""

    integracao_id: int
    recebida_em: datetime
    metodo: str
    url: str
    consulta: bytes
    cabecalhos: dict[str, str]
    corpo: bytes


class RecusaNova(NamedTuple):
    """Um callback recusado. Não é evidência: nada do conteúdo fica."""

    integracao_id: int | None
    dia: date
    motivo: str


def gravar_recepcoes(recepcoes: Sequence[RecepcaoNova]) -> None:
    """Grava e confirma as recepções e os pendentes delas, num COMMIT só. Voltou: estão todas no disco.

    Levanta o erro do banco, e então nenhuma ficou.
    """
    integracoes, instantes, metodos, urls, consultas, cabecalhos, corpos = zip(*recepcoes, strict=True)
    em_json = [orjson.dumps(guardados).decode() for guardados in cabecalhos]
    colunas = (integracoes, instantes, metodos, urls, consultas, em_json, corpos)
    with cursor_direto() as cursor:
        cursor.execute(SQL_GRAVAR_RECEPCOES, [*map(list, colunas), PESO_POR_BYTES], prepare=True)


def contar_recusas(recusas: Sequence[RecusaNova]) -> None:
    """Conta callbacks recusados, todos num COMMIT só."""
    with cursor_direto() as cursor:
        cursor.execute(SQL_CONTAR_RECUSAS, [list(coluna) for coluna in zip(*recusas, strict=True)])


def ler_recepcoes(ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """As recepções, em ordem de chegada, com os bytes como vieram."""
    with cursor_direto() as cursor:
        return cursor.execute(SQL_LER_RECEPCOES, {"ids": list(ids)}, binary=True).fetchall()


def reservar_ids(quantos: int) -> list[int]:
    """Ids de eventos lógicos por nascer, em ordem crescente. Os que não forem usados não voltam."""
    with cursor_direto() as cursor:
        return [id_ for (id_,) in cursor.execute(SQL_RESERVAR_IDS, {"quantos": quantos})]


def executar(
    sql: str, linhas: Sequence[dict[str, Any]], **outras: Sequence[dict[str, Any]]
) -> list[tuple[Any, ...]]:
    """Uma ida ao banco com as linhas num vetor JSON (`outras`, idem); sem linhas, nenhuma ida."""
    if not linhas:
        return []
    vetores = {"linhas": linhas, **outras}
    with cursor_direto() as cursor:
        parametros = {nome: orjson.dumps(vetor, default=str).decode() for nome, vetor in vetores.items()}
        cursor.execute(sql, parametros, prepare=True)
        return cursor.fetchall() if cursor.description else []


def consultar_por_ids(sql: str, ids: Sequence[int]) -> list[tuple[Any, ...]]:
    """Uma ida ao banco por uma lista de ids; lista vazia, nenhuma ida."""
    if not ids:
        return []
    with cursor_direto() as cursor:
        return cursor.execute(sql, {"ids": sorted(ids)}, prepare=True).fetchall()
