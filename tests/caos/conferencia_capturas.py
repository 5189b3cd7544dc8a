"""O banco contra o que os aparelhos ouviram, depois que as falhas pararam e as filas escoaram."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import psycopg

from tests.caos.campo import Camera
from tests.caos.capturas import resumir_campos
from tests.caos.oraculo_capturas import CONFLITOS, OraculoDeCapturas

LINHAS_POR_VEZ = 2_000
EXEMPLOS = 5
CAPTURAS_POR_MORTE = 3  # as caixas de uma cena: gravadas na fila no instante da morte, e não ditas

SQL_CAPTURAS = """
    SELECT id_evento::text, dispositivo_id::text, capturado_em, seq, payload,
        quadro_largura, quadro_altura, quadro_bytes, quadro_sha256,
        caixa_x, caixa_y, caixa_largura, caixa_altura, caixa_margem,
        recorte_sha256, encode(sha256(recorte), 'hex'), hora_suspeita, gravado_em, reenvios_link, reenvios_fila
    FROM ingestao_captura WHERE dispositivo_id = ANY(%s::uuid[])
"""
SQL_RECUSADAS = """
    SELECT dispositivo_id::text, coalesce(id_evento::text, ''), codigo, quantidade
    FROM ingestao_capturarecusada WHERE dispositivo_id = ANY(%s::uuid[])
"""
SQL_CHAMADAS = """
    SELECT motivo, sum(quantidade)::bigint FROM ingestao_recusadecaptura
    WHERE dispositivo_id IS NULL OR dispositivo_id = ANY(%s::uuid[]) GROUP BY motivo
"""
SQL_MEDIDAS = """
    SELECT dispositivo_id::text, medida, sum(quantidade)::bigint FROM ingestao_medidadecaptura
    WHERE dispositivo_id = ANY(%s::uuid[]) GROUP BY dispositivo_id, medida
"""
# O que as medidas têm de somar, contado nas linhas.
SQL_CONTAS = """
    SELECT dispositivo_id::text, m.medida, m.quantidade::bigint
    FROM (SELECT dispositivo_id, count(*) AS gravadas, count(*) FILTER (WHERE recorte IS NULL) AS ausentes,
            count(*) FILTER (WHERE recorte IS NOT NULL AND quadro_largura IS NOT NULL) AS razoes,
            sum(reenvios_link) AS link, sum(reenvios_fila) AS fila, count(latencia_ms) AS latencias
        FROM ingestao_captura WHERE dispositivo_id = ANY(%(d)s::uuid[]) GROUP BY dispositivo_id) c
    CROSS JOIN LATERAL (VALUES ('gravadas', gravadas), ('bytes', gravadas), ('recortes_ausentes', ausentes),
        ('razao_ppm', razoes), ('reenvio_link', link), ('reenvio_fila', fila), ('latencia_ms', latencias)
    ) AS m(medida, quantidade)
    UNION ALL
    SELECT dispositivo_id::text, CASE situacao WHEN 'conflito' THEN 'conflitos:' ELSE 'invalidos:' END || codigo,
        sum(quantidade)::bigint
    FROM ingestao_capturarecusada WHERE dispositivo_id = ANY(%(d)s::uuid[]) GROUP BY dispositivo_id, situacao, codigo
"""
SQL_CAMERA_EM_DOBRO = """
    SELECT dispositivo_id, payload->>'numero', payload->>'caixa', array_agg(id_evento::text)
    FROM ingestao_captura WHERE dispositivo_id = ANY(%s::uuid[]) GROUP BY 1, 2, 3 HAVING count(*) > 1
"""
SQL_MAIOR_LATENCIA = """
    SELECT max(latencia_ms) FROM ingestao_captura WHERE dispositivo_id = ANY(%s::uuid[])
"""
SQL_DO_ID = """
    SELECT dispositivo, conteudo, suspeita, mandadas, gravadas, gravado_em FROM variante WHERE id = ?
"""


def conferir(
    banco: psycopg.Connection[Any],
    oraculo: OraculoDeCapturas,
    dispositivos: Sequence[str],
    cameras: Sequence[Camera],
    *,
    duracao_s: float,
) -> int:
    """Acusa no oráculo o que o banco tem de diferente do prometido; devolve quantas capturas leu."""
    livro, ids = oraculo.livro, list(dispositivos)
    livro.anotar("UPDATE variante SET visto = 0", [()])
    livro.anotar("UPDATE dita SET visto = 0", [()])
    qtd_lidas = 0
    for linhas in _percorrer(banco, ids):
        qtd_lidas += len(linhas)
        certas = [v for linha in linhas if (v := _conferir_linha(oraculo, linha)) is not None]
        livro.anotar(
            "UPDATE variante SET visto = 1 WHERE id = ? AND dispositivo = ? AND conteudo = ?", certas
        )
        livro.anotar(
            "UPDATE dita SET visto = 1 WHERE id = ? AND numero = ?",
            [(linha[0], linha[4].get("numero")) for linha in linhas],
        )
    _conferir_promessas(oraculo)
    _conferir_recusas(banco, oraculo, ids)
    _conferir_medidas(banco, oraculo, ids, cameras)
    _conferir_cameras(banco, oraculo, cameras, duracao_s)
    return qtd_lidas


def _percorrer(banco: psycopg.Connection[Any], ids: list[str]) -> Iterator[list[tuple[Any, ...]]]:
    with banco.transaction(), banco.cursor(name="capturas") as cursor:
        cursor.execute(SQL_CAPTURAS, (ids,))
        while linhas := cursor.fetchmany(LINHAS_POR_VEZ):
            yield linhas


def _conferir_linha(oraculo: OraculoDeCapturas, linha: tuple[Any, ...]) -> tuple[str, str, str] | None:
    """Uma captura do banco é um conteúdo que alguém mandou, com a hora do ACK e os bytes do recorte.

    Devolve a variante que ela é; None se ninguém a mandou assim.
    """
    id_, dispositivo, capturado_em, seq, payload, *resto = linha
    quadro, caixa = resto[:4], resto[4:9]
    recorte_dito, recorte_sha256, suspeita, gravado_em, link, fila = resto[9:]
    conteudo = resumir_campos(
        capturado_em,
        seq,
        payload,
        None if quadro[0] is None else quadro,
        None if caixa[0] is None else caixa,
        recorte_sha256,
    )
    variantes = {(v[0], v[1]): v[2:] for v in oraculo.livro.buscar(SQL_DO_ID, (id_,))}
    if (dispositivo, conteudo) not in variantes:
        oraculo.acusar(f"captura {id_} que ninguém mandou assim: no banco {linha}; mandadas {variantes}")
        return None
    suspeita_certa, mandadas, gravadas, ack = variantes[dispositivo, conteudo]
    if recorte_dito != recorte_sha256:
        oraculo.acusar(f"captura {id_}: recorte com SHA-256 {recorte_sha256}, e a linha diz {recorte_dito}")
    if ack is not None and ack != _escrever(gravado_em):
        oraculo.acusar(f"captura {id_}: o ACK disse {ack}, a linha diz {gravado_em}")
    if suspeita_certa is not None and suspeita != suspeita_certa:
        oraculo.acusar(f"captura {id_}: hora_suspeita “{suspeita}”, devia ser “{suspeita_certa}”")
    if not gravadas - 1 <= link + fila <= mandadas - 1:
        oraculo.acusar(f"captura {id_}: {link}+{fila} reenvios, com {gravadas} ACKs em {mandadas} envios")
    return id_, dispositivo, conteudo


def _escrever(instante: datetime) -> str:
    return instante.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _conferir_promessas(oraculo: OraculoDeCapturas) -> None:
    """Nada prometido sumiu; e todo conflito tem, no banco, a captura com que conflita."""
    for frase, onde in (
        ("capturas confirmadas não existem", "gravadas > 0 AND NOT visto"),
        ("capturas em conflito consigo mesmas", "conflitos > 0 AND visto"),
        (
            "conflitos com uma captura que não existe",
            "conflitos > 0 AND NOT EXISTS (SELECT 1 FROM variante o WHERE o.id = variante.id AND o.visto)",
        ),
    ):
        quantas = oraculo.livro.contar(f"SELECT count(*) FROM variante WHERE {onde}")
        if quantas:
            exemplos = oraculo.livro.buscar(f"SELECT * FROM variante WHERE {onde} LIMIT {EXEMPLOS}")
            oraculo.acusar(f"{quantas} {frase}, como {exemplos}")


def _conferir_recusas(banco: psycopg.Connection[Any], oraculo: OraculoDeCapturas, ids: list[str]) -> None:
    """Cada recusa ouvida está visível; as contagens cabem entre o ouvido e o mandado."""
    livro = oraculo.livro
    gravadas = {tuple(linha[:3]): linha[3] for linha in banco.execute(SQL_RECUSADAS, (ids,))}
    ditas = {tuple(linha[:3]): linha[3:] for linha in livro.buscar("SELECT * FROM recusa")}
    for chave in gravadas.keys() | ditas.keys():
        dispositivo, id_, codigo = chave
        mandadas, ouvidas = ditas.get(chave, (0, 0))
        if codigo in CONFLITOS:  # de antemão não se sabe qual envio conflita
            mandadas = livro.contar(
                "SELECT coalesce(sum(mandadas), 0) FROM variante WHERE id = ? AND dispositivo = ?",
                (id_, dispositivo),
            )
        if not ouvidas <= gravadas.get(chave, 0) <= mandadas:
            oraculo.acusar(
                f"recusa {chave}: {gravadas.get(chave, 0)} vezes no banco, ouvida {ouvidas}, mandada {mandadas}"
            )
    contadas: dict[str, int] = dict(banco.execute(SQL_CHAMADAS, (ids,)).fetchall())
    for codigo in contadas.keys() | oraculo.chamadas_mandadas.keys():
        ouvidas, mandadas = oraculo.chamadas_ouvidas[codigo], oraculo.chamadas_mandadas[codigo]
        if not ouvidas <= contadas.get(codigo, 0) <= mandadas:
            oraculo.acusar(
                f"chamada recusada {codigo}: {contadas.get(codigo, 0)} no banco, ouvida {ouvidas}, mandada {mandadas}"
            )


def _conferir_medidas(
    banco: psycopg.Connection[Any], oraculo: OraculoDeCapturas, ids: list[str], cameras: Sequence[Camera]
) -> None:
    """Todo contador é exato: o das linhas, o das recusas e, nas câmeras, o dos descartes que elas contaram."""
    certas = Counter({(d, medida): int(n) for d, medida, n in banco.execute(SQL_CONTAS, {"d": ids})})
    for camera in cameras:
        for motivo, quantos in ((camera.fim or {}).get("descartes") or {}).items():
            certas[camera.dispositivo, f"descartados:{motivo}"] += quantos
    medidas = Counter({(d, medida): int(n) for d, medida, n in banco.execute(SQL_MEDIDAS, (ids,))})
    erradas = sorted(c for c in certas.keys() | medidas.keys() if certas[c] != medidas[c])
    for chave in erradas:
        oraculo.acusar(f"medida {chave}: {medidas[chave]}, devia ser {certas[chave]}")


def _conferir_cameras(
    banco: psycopg.Connection[Any], oraculo: OraculoDeCapturas, cameras: Sequence[Camera], duracao_s: float
) -> None:
    """O que a fila guardou chegou uma vez; o que ela negou não chegou; nada ficou para trás nem de lado."""
    ids = [camera.dispositivo for camera in cameras]
    for camera in cameras:
        _conferir_camera(banco, oraculo, camera)
    em_dobro = banco.execute(SQL_CAMERA_EM_DOBRO, (ids,)).fetchall()
    if em_dobro:
        oraculo.acusar(f"a mesma captura duas vezes: {len(em_dobro)} casos, como {em_dobro[:EXEMPLOS]}")
    trocadas = oraculo.livro.buscar(
        f"""SELECT id, count(*) FROM variante WHERE dispositivo IN ({", ".join("?" * len(ids))})
        GROUP BY id HAVING count(*) > 1 LIMIT {EXEMPLOS}""",
        ids,
    )
    if trocadas:
        oraculo.acusar(f"o cliente mudou uma captura entre dois envios: {trocadas}")
    (maior_ms,) = banco.execute(SQL_MAIOR_LATENCIA, (ids,)).fetchone() or (None,)
    if maior_ms is not None and maior_ms > duracao_s * 1000:
        oraculo.acusar(
            f"latência de {maior_ms} ms numa rodada de {duracao_s:.0f} s: o relógio torto a estragou"
        )


def _conferir_camera(banco: psycopg.Connection[Any], oraculo: OraculoDeCapturas, camera: Camera) -> None:
    quem, livro = f"câmera {camera.numero}", oraculo.livro
    fim = camera.fim or {}
    if [fim.get(nome) for nome in ("faltam", "quarentena", "por_relatar", "danificados")] != [0, 0, 0, []]:
        oraculo.acusar(f"{quem}: a fila não terminou limpa: {fim}")
    onde = "FROM dita WHERE dispositivo = ? AND NOT visto"
    perdidas = livro.contar(f"SELECT count(*) {onde}", (camera.dispositivo,))
    if perdidas:
        exemplos = livro.buscar(f"SELECT * {onde} LIMIT {EXEMPLOS}", (camera.dispositivo,))
        oraculo.acusar(f"{quem}: {perdidas} capturas que a fila guardou não chegaram, como {exemplos}")
    linhas = banco.execute(
        "SELECT id_evento::text, payload->>'numero' FROM ingestao_captura WHERE dispositivo_id = %s",
        (camera.dispositivo,),
    ).fetchall()
    ditas = {
        id_ for (id_,) in livro.buscar("SELECT id FROM dita WHERE dispositivo = ?", (camera.dispositivo,))
    }
    nao_ditas = [linha for linha in linhas if linha[0] not in ditas]
    if len(nao_ditas) > CAPTURAS_POR_MORTE * camera.qtd_vidas:
        oraculo.acusar(f"{quem}: {len(nao_ditas)} capturas que ela não disse, como {nao_ditas[:EXEMPLOS]}")
    negadas = dict(
        livro.buscar("SELECT numero, codigo FROM negada WHERE dispositivo = ?", (camera.dispositivo,))
    )
    chegaram = [linha for linha in linhas if linha[1] in negadas]
    if chegaram:
        oraculo.acusar(f"{quem}: disse que não guardou e chegou: {chegaram[:EXEMPLOS]}")
    (por_fila,) = banco.execute(
        "SELECT coalesce(sum(reenvios_fila), 0) FROM ingestao_captura WHERE dispositivo_id = %s",
        (camera.dispositivo,),
    ).fetchone() or (0,)
    if por_fila:
        oraculo.acusar(f"{quem}: {por_fila} reenvios por defeito da fila")
