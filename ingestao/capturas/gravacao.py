"""O SQL do fluxo dos aparelhos. Cada função é uma ida ao banco, dentro da transação de quem chama.

Ordem das travas em toda transação: capturas novas (por id), capturas que já existiam (por id), relato, recusadas,
medidas, aparelho; sempre com as chaves ordenadas. As medidas vêm por último: são as linhas que os lotes de um mesmo
aparelho disputam, e assim ficam travadas só durante o COMMIT.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from config.banco.cursor import cursor_direto
from ingestao.capturas.medidas import Contagens, truncar_na_hora
from ingestao.capturas.reenvios import Gravada
from ingestao.capturas.relatos import Pulso

PEDIDOS_POR_RESPOSTA = 20  # um aparelho sobe um quadro por vez; os outros vêm nas respostas seguintes
CONTATO_A_CADA_S = 10  # `ultimo_contato_em` não precisa de mais precisão, e cada UPDATE é uma versão da linha

_COLUNAS = {
    "id_evento": "uuid",
    "capturado_em": "timestamptz",
    "idade_ms": "bigint",
    "hora_suspeita": "text",
    "seq": "bigint",
    "payload": "jsonb",
    "quadro_largura": "integer",
    "quadro_altura": "integer",
    "quadro_bytes": "bigint",
    "quadro_sha256": "text",
    "quadro_expira_em": "timestamptz",
    "caixa_x": "integer",
    "caixa_y": "integer",
    "caixa_largura": "integer",
    "caixa_altura": "integer",
    "caixa_margem": "integer",
    "sem_recorte": "text",
    "recorte_bytes": "integer",
    "recorte_largura": "integer",
    "recorte_altura": "integer",
    "recorte_sha256": "text",
    "conteudo_resumo": "text",
    "maior_tentativa": "integer",
}
_NOMES = ", ".join(_COLUNAS)
_TIPOS = ", ".join(f"{coluna} {tipo}" for coluna, tipo in _COLUNAS.items())
# O null do JSON é um payload; a expansão o confunde com a falta de um.
_VALORES = _NOMES.replace("payload", "coalesce(payload, 'null')")

# O corpo da requisição viaja uma vez, como uma peça só, e cada recorte é um pedaço dele: em Python nenhuma imagem é
# copiada nem escrita como texto. Quem chega ao mesmo tempo com o mesmo id espera aqui o COMMIT do outro.
SQL_GRAVAR_CAPTURAS = f"""
    INSERT INTO ingestao_captura (dispositivo_id, gravado_em, recorte, {_NOMES})
    SELECT %(dispositivo_id)s, statement_timestamp(),
        substring(%(corpo)s FROM r.recorte_inicio + 1 FOR r.recorte_bytes), {_VALORES}
    FROM json_to_recordset(%(linhas)s::json) AS r({_TIPOS}, recorte_inicio integer)
    ORDER BY id_evento
    ON CONFLICT (id_evento) DO NOTHING
    RETURNING id_evento::text, gravado_em
"""

# Noutra consulta, depois do INSERT: em READ COMMITTED ela vê o que outro lote acabou de gravar.
SQL_TRAVAR_CAPTURAS = """
    SELECT id_evento::text, dispositivo_id, conteudo_resumo, gravado_em, maior_tentativa, reenvios_link,
        reenvios_fila, latencia_ms
    FROM ingestao_captura WHERE id_evento = ANY(%(ids)s::uuid[])
    ORDER BY id_evento FOR NO KEY UPDATE
"""
SQL_ATUALIZAR_CAPTURAS = """
    UPDATE ingestao_captura c SET maior_tentativa = r.maior_tentativa, reenvios_link = r.reenvios_link,
        reenvios_fila = r.reenvios_fila, latencia_ms = r.latencia_ms
    FROM json_to_recordset(%(linhas)s::json) AS r(
        id_evento uuid, maior_tentativa integer, reenvios_link integer, reenvios_fila integer, latencia_ms bigint
    )
    WHERE c.id_evento = r.id_evento
"""

# Índice: relato_unico. O mesmo relato de novo não devolve linha, e nada se soma.
SQL_GRAVAR_RELATO = """
    INSERT INTO ingestao_relatodedescarte (dispositivo_id, relato, descartados, recebido_em)
    VALUES (%(dispositivo_id)s, %(relato)s, %(descartados)s, %(agora)s)
    ON CONFLICT (dispositivo_id, relato) DO NOTHING
    RETURNING id
"""

# Índice: captura_recusada_unica.
SQL_GRAVAR_RECUSADAS = """
    INSERT INTO ingestao_capturarecusada AS c (
        dispositivo_id, id_evento, situacao, codigo, detalhe, quantidade, primeira_em, ultima_em
    )
    SELECT %(dispositivo_id)s, r.id_evento, r.situacao, r.codigo, r.detalhe, r.quantidade, %(agora)s, %(agora)s
    FROM json_to_recordset(%(linhas)s::json) AS r(
        id_evento uuid, situacao text, codigo text, detalhe text, quantidade bigint
    )
    ORDER BY r.id_evento, r.codigo COLLATE "C"
    ON CONFLICT (dispositivo_id, id_evento, codigo) DO UPDATE SET
        quantidade = c.quantidade + excluded.quantidade, detalhe = excluded.detalhe,
        ultima_em = greatest(c.ultima_em, excluded.ultima_em)
"""

_LISTAR_PEDIDOS = """
    SELECT id::text, captura_id::text, vence_em, quadro_bytes, quadro_sha256, recebidos_bytes, dispositivo_id
    FROM ingestao_pedido
    WHERE dispositivo_id = ANY(%(dispositivos)s) AND situacao = 'aberto' AND vence_em > %(agora)s
    ORDER BY aberto_em, id
"""
# Índices: medida_unica, pedido_em_aberto. Uma ida só: as medidas, o contato e o que a resposta leva.
SQL_SOMAR_E_LISTAR_PEDIDOS = f"""
    WITH soma AS (
        INSERT INTO ingestao_medidadecaptura AS m (dispositivo_id, hora, medida, faixa, quantidade)
        SELECT %(dispositivo_id)s, %(hora)s, r.medida, r.faixa, r.quantidade
        FROM json_to_recordset(%(linhas)s::json) AS r(medida text, faixa smallint, quantidade bigint)
        ORDER BY r.medida COLLATE "C", r.faixa
        ON CONFLICT (dispositivo_id, hora, medida, faixa) DO UPDATE SET
            quantidade = m.quantidade + excluded.quantidade
    ), contato AS (
        UPDATE ingestao_dispositivo SET ultimo_contato_em = %(agora)s
        WHERE id = %(dispositivo_id)s AND %(agora)s > coalesce(ultimo_contato_em, '-infinity')
            + interval '{CONTATO_A_CADA_S} seconds'
    )
    {_LISTAR_PEDIDOS} LIMIT {PEDIDOS_POR_RESPOSTA}
"""
SQL_LISTAR_PEDIDOS = f"{_LISTAR_PEDIDOS} LIMIT %(limite)s"
SQL_ANOTAR_CONTATO = f"""
    UPDATE ingestao_dispositivo SET ultimo_contato_em = %(agora)s
    WHERE id = %(dispositivo_id)s AND %(agora)s > coalesce(ultimo_contato_em, '-infinity')
        + interval '{CONTATO_A_CADA_S} seconds'
"""

SQL_GRAVAR_PULSO = """
    UPDATE ingestao_dispositivo SET ultimo_contato_em = %(agora)s, ultimo_pulso_em = %(agora)s,
        versao = %(versao)s, boot_id = %(boot_id)s, fila_qtd = %(fila_qtd)s,
        fila_mais_antigo_s = %(fila_mais_antigo_s)s, disco_livre_bytes = %(disco_livre_bytes)s,
        quarentena = %(quarentena)s, quadros_qtd = %(quadros_qtd)s, quadros_bytes = %(quadros_bytes)s,
        relogio_suspeito = %(relogio_suspeito)s
    WHERE id = %(dispositivo_id)s
"""

SQL_CONTAR_RECUSA = """
    INSERT INTO ingestao_recusadecaptura AS r (dispositivo_id, dia, motivo, quantidade)
    VALUES (%(dispositivo_id)s, %(dia)s, %(motivo)s, 1)
    ON CONFLICT (dispositivo_id, dia, motivo) DO UPDATE SET quantidade = r.quantidade + 1
"""


def gravar_capturas(
    dispositivo_id: UUID, linhas: Sequence[Mapping[str, Any]], corpo: bytes
) -> dict[str, datetime]:
    """Grava as que ainda não existem; devolve id (texto) → gravado_em das que entraram agora.

    As linhas têm as colunas de `_COLUNAS` e `recorte_inicio`, a posição do recorte em `corpo`. Ids sem repetição.
    """
    if not linhas:
        return {}
    return dict(
        _executar(
            SQL_GRAVAR_CAPTURAS,
            {"dispositivo_id": dispositivo_id, "corpo": corpo, "linhas": _json(linhas)},
        )
    )


def travar_capturas(ids: Iterable[str]) -> dict[str, Gravada]:
    """Trava até o fim da transação as capturas que existem; devolve id (texto) → como estão gravadas."""
    campos = Gravada.__slots__
    linhas = _executar(SQL_TRAVAR_CAPTURAS, {"ids": sorted(ids)})
    return {linha[0]: Gravada(**dict(zip(campos, linha, strict=True))) for linha in linhas}


def atualizar_capturas(gravadas: Iterable[Gravada]) -> None:
    """Grava as contagens e latências das capturas já travadas."""
    linhas = [
        {
            "id_evento": g.id_evento,
            "maior_tentativa": g.maior_tentativa,
            "reenvios_link": g.reenvios_link,
            "reenvios_fila": g.reenvios_fila,
            "latencia_ms": g.latencia_ms,
        }
        for g in gravadas
    ]
    if linhas:
        _executar(SQL_ATUALIZAR_CAPTURAS, {"linhas": _json(linhas)})


def gravar_relato(dispositivo_id: UUID, relato: str, descartados: Mapping[str, int], agora: datetime) -> bool:
    """Grava o relato de descartes; False se ele já tinha sido aplicado."""
    parametros = {
        "dispositivo_id": dispositivo_id,
        "relato": relato,
        "descartados": _json(descartados),
        "agora": agora,
    }
    return bool(_executar(SQL_GRAVAR_RELATO, parametros))


def gravar_recusadas(dispositivo_id: UUID, linhas: Sequence[Mapping[str, Any]], agora: datetime) -> None:
    """Grava ou soma os eventos que não viraram captura; um por (id, código)."""
    if linhas:
        _executar(
            SQL_GRAVAR_RECUSADAS,
            {"dispositivo_id": dispositivo_id, "linhas": _json(linhas), "agora": agora},
        )


def somar_e_listar_pedidos(
    dispositivo_id: UUID, contagens: Contagens, agora: datetime
) -> list[tuple[Any, ...]]:
    """Soma as medidas da hora, anota o contato e devolve os pedidos abertos do aparelho."""
    linhas = [
        {"medida": medida, "faixa": faixa, "quantidade": quantidade}
        for (medida, faixa), quantidade in contagens.items()
    ]
    return _executar(
        SQL_SOMAR_E_LISTAR_PEDIDOS,
        {
            "dispositivo_id": dispositivo_id,
            "dispositivos": [dispositivo_id],
            "hora": truncar_na_hora(agora),
            "linhas": _json(linhas),
            "agora": agora,
        },
    )


def listar_pedidos(dispositivos: Sequence[UUID], agora: datetime, limite: int) -> list[tuple[Any, ...]]:
    """Os pedidos abertos destes aparelhos, do mais antigo ao mais novo."""
    return _executar(
        SQL_LISTAR_PEDIDOS, {"dispositivos": list(dispositivos), "agora": agora, "limite": limite}
    )


def anotar_contato(dispositivo_id: UUID, agora: datetime) -> None:
    """O aparelho está vivo."""
    _executar(SQL_ANOTAR_CONTATO, {"dispositivo_id": dispositivo_id, "agora": agora})


def gravar_pulso(dispositivo_id: UUID, pulso: Pulso, agora: datetime) -> None:
    """Guarda o estado do aparelho; só o último fica."""
    campos = {campo: getattr(pulso, campo) for campo in pulso.__slots__}
    _executar(SQL_GRAVAR_PULSO, {"dispositivo_id": dispositivo_id, "agora": agora, **campos})


def contar_recusa(dispositivo_id: UUID | None, dia: Any, motivo: str) -> None:
    """Soma uma chamada recusada inteira."""
    _executar(SQL_CONTAR_RECUSA, {"dispositivo_id": dispositivo_id, "dia": dia, "motivo": motivo})


def _json(valor: Any) -> str:
    return orjson.dumps(valor).decode()


def _executar(sql: str, parametros: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    with cursor_direto() as cursor:
        cursor.execute(sql, parametros, prepare=True)
        return cursor.fetchall() if cursor.description else []
