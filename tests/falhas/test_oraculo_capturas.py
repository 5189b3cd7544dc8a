"""O oráculo das capturas enxerga: estragado o banco, ele acusa; intacto, cala."""

import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from tests.caos.aparelhos import ROTA
from tests.caos.campo import Camera
from tests.caos.capturas import Captura, Fabrica, montar_corpo
from tests.caos.conferencia_capturas import conferir
from tests.caos.envio import Canal, Resposta
from tests.caos.oraculo_capturas import OraculoDeCapturas
from tests.caos.servidor import ServidorLocal, esperar

SEMENTE = 4
LOTES = 30
PRAZO_S = 60
GRAVADO = {"situacao": "gravado", "gravado_em": "2026-11-30T18:00:00.000000Z"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cenario:
    """Dois aparelhos e uma câmera que já falaram tudo o que tinham a falar."""

    oraculo: OraculoDeCapturas
    dispositivos: Sequence[str]
    camera: Camera


def mandar(
    servidor: ServidorLocal,
    oraculo: OraculoDeCapturas,
    criado: dict[str, str],
    capturas: list[Captura],
    vez: int,
) -> None:
    corpo, tipo = montar_corpo(capturas, [vez] * len(capturas))
    canal = Canal(servidor.porta, rota=ROTA)
    oraculo.anotar_envio(criado["id"], capturas)
    resposta = canal.postar(corpo, {"Authorization": f"Bearer {criado['token']}", "Content-Type": tipo})
    canal.fechar()
    assert oraculo.anotar_resposta(criado["id"], capturas, resposta), resposta


def mandar_chamada_ruim(servidor: ServidorLocal, oraculo: OraculoDeCapturas, criado: dict[str, str]) -> None:
    chamada = Fabrica(SEMENTE, 9).chamada_ruim()
    canal = Canal(servidor.porta, rota=ROTA)
    oraculo.anotar_chamada_ruim(chamada)
    token = chamada.token or criado["token"]
    cabecalhos = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    assert oraculo.anotar_recusa_inteira(chamada, canal.postar(chamada.corpo, cabecalhos))
    canal.fechar()


def filmar(camera: Camera) -> None:
    """Captura, morre, volta, escoa e sai."""
    fim = threading.Event()

    def zelar() -> None:
        while not fim.wait(0.05):
            camera.zelar()

    zelador = threading.Thread(target=zelar, daemon=True)
    with camera.enlace:
        zelador.start()
        try:
            assert esperar(lambda: camera.contar_ditas() > 5, PRAZO_S)
            camera.matar(Random(SEMENTE))
            assert esperar(lambda: camera.qtd_vidas == 2, PRAZO_S)
            antes = camera.contar_ditas()
            assert esperar(lambda: camera.contar_ditas() > antes, PRAZO_S)
            camera.mandar_parar()
            assert esperar(lambda: camera.fim is not None, PRAZO_S)
        finally:
            fim.set()
            zelador.join(30)


@pytest.fixture(scope="module")
def cenario(servidor_da_pasta: ServidorLocal, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cenario]:
    """Trinta lotes de cada aparelho, com reenvios, e uma câmera morta uma vez."""
    servidor = servidor_da_pasta
    servidor.esperar_de_pe()
    with servidor.conectar() as banco:  # as chamadas sem dono dos testes vizinhos
        banco.execute("DELETE FROM ingestao_recusadecaptura WHERE dispositivo_id IS NULL")
    criados = servidor.rodar_modulo("tests.caos.cadastro", "0", "um", "outro", "camera")["aparelhos"]
    oraculo = OraculoDeCapturas()
    fabricas = [Fabrica(SEMENTE, numero) for numero in range(2)]
    for numero in range(LOTES):
        for fabrica, criado in zip(fabricas, criados[:2], strict=True):
            capturas = fabrica.lote()
            for vez in (1, 2) if numero % 3 == 0 else (1,):
                mandar(servidor, oraculo, criado, capturas, vez)
    mandar_chamada_ruim(servidor, oraculo, criados[0])
    camera = Camera(
        1,
        semente=SEMENTE,
        pasta=Path(tmp_path_factory.mktemp("camera")),
        porta=servidor.porta,
        dispositivo=criados[2]["id"],
        token=criados[2]["token"],
        oraculo=oraculo,
    )
    try:
        filmar(camera)
        yield Cenario(oraculo=oraculo, dispositivos=[c["id"] for c in criados], camera=camera)
    finally:
        camera.encerrar()


def acusacoes(servidor: ServidorLocal, cenario: Cenario, *estragos: str) -> list[str]:
    """O que a conferência acusa depois dos estragos, que não ficam; `%(d)s` são os aparelhos."""
    antes = len(cenario.oraculo.violacoes)
    parametros = {"d": list(cenario.dispositivos), "c": cenario.camera.dispositivo}
    with servidor.conectar() as banco, banco.transaction(force_rollback=True):
        for estrago in estragos:
            assert banco.execute(estrago, parametros).rowcount > 0, "o estrago não estragou nada"
        conferir(banco, cenario.oraculo, cenario.dispositivos, [cenario.camera], duracao_s=600)
    novas = cenario.oraculo.violacoes[antes:]
    del cenario.oraculo.violacoes[antes:]
    return novas


def test_com_o_banco_intacto_nada_se_acusa(servidor: ServidorLocal, cenario: Cenario) -> None:
    livro = cenario.oraculo.livro

    assert cenario.oraculo.violacoes == []
    assert acusacoes(servidor, cenario) == []
    # O cenário tem de tudo: senão o silêncio não diria nada.
    assert livro.contar("SELECT count(*) FROM variante WHERE gravadas > 1") > 20
    assert livro.contar("SELECT count(*) FROM variante WHERE conflitos > 0") > 3
    assert livro.contar("SELECT count(*) FROM recusa WHERE ouvidas > 0") > 5


DOS_APARELHOS = "dispositivo_id = ANY(%(d)s::uuid[])"
UMA = f"id_evento = (SELECT id_evento FROM ingestao_captura WHERE {DOS_APARELHOS} ORDER BY 1 LIMIT 1)"
DA_CAMERA = (
    "id_evento = (SELECT id_evento FROM ingestao_captura WHERE dispositivo_id = %(c)s ORDER BY 1 LIMIT 1)"
)


@pytest.mark.parametrize(
    ("estrago", "acusacao"),
    [
        (f"DELETE FROM ingestao_captura WHERE {UMA}", "confirmadas não existem"),
        (f"UPDATE ingestao_captura SET payload = '{{}}' WHERE {UMA}", "ninguém mandou assim"),
        (f"UPDATE ingestao_captura SET seq = seq + 1 WHERE {UMA}", "ninguém mandou assim"),
        (
            f"""UPDATE ingestao_captura SET recorte = recorte || '\\x00'::bytea
            WHERE recorte IS NOT NULL AND {DOS_APARELHOS}""",
            "ninguém mandou assim",
        ),
        (
            f"""UPDATE ingestao_captura SET recorte_sha256 = repeat('0', 64)
            WHERE recorte IS NOT NULL AND {DOS_APARELHOS}""",
            "e a linha diz",
        ),
        (f"UPDATE ingestao_captura SET gravado_em = gravado_em + interval '1 us' WHERE {UMA}", "o ACK disse"),
        (f"UPDATE ingestao_captura SET hora_suspeita = 'outra' WHERE {DOS_APARELHOS}", "hora_suspeita"),
        (f"UPDATE ingestao_captura SET reenvios_link = reenvios_link + 9 WHERE {UMA}", "reenvios, com"),
        (
            f"""UPDATE ingestao_medidadecaptura SET quantidade = quantidade + 1
            WHERE medida = 'gravadas' AND {DOS_APARELHOS}""",
            "'gravadas'): ",
        ),
        (
            f"DELETE FROM ingestao_medidadecaptura WHERE medida LIKE 'conflitos:%%' AND {DOS_APARELHOS}",
            "'conflitos:",
        ),
        (f"DELETE FROM ingestao_capturarecusada WHERE situacao = 'invalido' AND {DOS_APARELHOS}", "recusa ("),
        (
            f"UPDATE ingestao_capturarecusada SET quantidade = quantidade + 9 WHERE {DOS_APARELHOS}",
            "vezes no banco",
        ),
        ("DELETE FROM ingestao_recusadecaptura", "chamada recusada"),
        (f"DELETE FROM ingestao_captura WHERE {DA_CAMERA}", "que a fila guardou não chegaram"),
        ("UPDATE ingestao_captura SET reenvios_fila = 1 WHERE dispositivo_id = %(c)s", "defeito da fila"),
        ("UPDATE ingestao_captura SET latencia_ms = 9e12 WHERE latencia_ms IS NOT NULL", "latência de"),
    ],
)  # fmt: skip
def test_o_oraculo_percebe_o_que_foi_estragado(
    servidor: ServidorLocal, cenario: Cenario, estrago: str, acusacao: str
) -> None:
    assert acusacao in "\n".join(acusacoes(servidor, cenario, estrago))


def test_o_oraculo_percebe_a_captura_gravada_em_dobro(servidor: ServidorLocal, cenario: Cenario) -> None:
    novas = acusacoes(
        servidor,
        cenario,
        f"CREATE TEMP TABLE copia ON COMMIT DROP AS SELECT * FROM ingestao_captura WHERE {DA_CAMERA}",
        "UPDATE copia SET id_evento = gen_random_uuid()",
        "INSERT INTO ingestao_captura SELECT * FROM copia",
    )

    assert "a mesma captura duas vezes" in "\n".join(novas)
    assert "ninguém mandou assim" in "\n".join(novas)


def test_o_oraculo_percebe_a_captura_que_a_fila_negou(servidor: ServidorLocal, cenario: Cenario) -> None:
    livro, camera = cenario.oraculo.livro, cenario.camera
    ((numero,),) = livro.buscar("SELECT numero FROM dita LIMIT 1")
    cenario.oraculo.anotar_negada(camera.dispositivo, numero, "sem_espaco")

    novas = acusacoes(servidor, cenario)
    livro.anotar("DELETE FROM negada", [()])

    assert "disse que não guardou e chegou" in "\n".join(novas)


def responder(*resultados: object, status: int = 200, **cabecalhos: str) -> Resposta:
    corpo = json.dumps({"resultados": resultados}, separators=(",", ":")).encode()
    return Resposta(status=status, cabecalhos=cabecalhos, corpo=corpo)


@pytest.mark.parametrize(
    "resposta",
    [
        Resposta(status=500, cabecalhos={}, corpo=b"<h1>Server Error</h1>"),
        Resposta(status=503, cabecalhos={}, corpo=b'{"codigo": "armazenamento_indisponivel"}'),
        responder(),
        responder({"id_evento": "outro", **GRAVADO}),
        responder({"id_evento": "a", **GRAVADO, "mais": 1}),
        responder({"id_evento": "a", "situacao": "invalido", "codigo": "campo_ausente"}),
        responder({"id_evento": "a", "situacao": "conflito", "codigo": "porque_sim"}),
    ],
)
def test_o_oraculo_percebe_resposta_que_nao_devia_vir(resposta: Resposta) -> None:
    oraculo, captura = OraculoDeCapturas(), uma_captura()
    oraculo.anotar_envio("d", [captura])

    oraculo.anotar_resposta("d", [captura], resposta)

    assert oraculo.qtd_violacoes == 1


def test_o_oraculo_percebe_dois_acks_diferentes_do_mesmo_id() -> None:
    oraculo, captura, outra = OraculoDeCapturas(), uma_captura(), uma_captura(seq=2)
    oraculo.anotar_envio("d", [captura])
    oraculo.anotar_envio("d", [outra])

    oraculo.anotar_resposta("d", [captura], responder({"id_evento": "a", **GRAVADO}))
    oraculo.anotar_resposta("d", [captura], responder({"id_evento": "a", **GRAVADO}))
    sem_novidade = oraculo.qtd_violacoes
    oraculo.anotar_resposta("d", [captura], responder({"id_evento": "a", **GRAVADO, "gravado_em": "2026"}))
    outra_hora = oraculo.qtd_violacoes
    oraculo.anotar_resposta("d", [outra], responder({"id_evento": "a", **GRAVADO}))

    assert (sem_novidade, outra_hora, oraculo.qtd_violacoes) == (0, 1, 2)


def test_a_mesma_semente_da_as_mesmas_capturas() -> None:
    def sortear(semente: int, numero: int) -> list[tuple[str, str | None, bytes | None]]:
        fabrica = Fabrica(semente, numero)
        return [(c.id, c.codigo, c.recorte) for _ in range(50) for c in fabrica.lote()]

    assert sortear(7, 1) == sortear(7, 1)
    assert sortear(7, 1) != sortear(7, 2)
    assert sortear(7, 1) != sortear(8, 1)


def uma_captura(seq: int = 1) -> Captura:
    evento = {"id_evento": "a", "capturado_em": "2026-11-30T18:00:00Z", "seq": seq, "payload": {}}
    return Captura(id="a", evento=evento)
