"""Sem onde gravar, 503 depressa e nada guardado; quando o PostgreSQL volta, ninguém precisa fazer nada."""

import threading

from tests.caos.envio import Resposta
from tests.caos.lotes import Site
from tests.caos.servidor import ServidorLocal, esperar
from tests.falhas.carga import (
    contas_de,
    em_paralelo,
    esperar_esvaziar,
    mandar,
    mandar_medindo,
    montar,
    totais,
)

ESPERA_MORTO_S = 1.0
ESPERA_CONGELADO_S = 4.0
VOLTA_S = 20  # o recuo do supervisor entre tentativas chega a alguns segundos


def conferir_503(resposta: Resposta, codigo: str = "armazenamento_indisponivel") -> None:
    assert resposta.status == 503, resposta
    assert resposta.codigo == codigo
    assert int(resposta.cabecalhos["retry-after"]) > 0
    assert resposta.cabecalhos["access-control-allow-origin"] == "*"


def aceita_conexoes(servidor: ServidorLocal) -> bool:
    try:
        return servidor.consultar("SELECT 1") == [(1,)]
    except Exception:  # noqa: BLE001 - qualquer motivo vale "ainda não"
        return False


def test_postgres_morto_da_503_depressa_e_nao_guarda_nada(servidor: ServidorLocal, site: Site) -> None:
    aquecidos = em_paralelo(
        lambda n: mandar(servidor, montar(site, [f"antes-{n}"])).status, range(40), threads=20
    )
    esperar_esvaziar(servidor)

    with servidor.sem_postgres():
        medidas = em_paralelo(
            lambda n: mandar_medindo(servidor, montar(site, [f"durante-{n}"])), range(60), threads=10
        )
    assert esperar(lambda: aceita_conexoes(servidor), VOLTA_S)
    # As conexões ociosas de antes da queda estão mortas: nenhuma pode custar um 503 à toa.
    depois = em_paralelo(
        lambda n: mandar(servidor, montar(site, [f"depois-{n}"])).status, range(60), threads=24
    )
    esperar_esvaziar(servidor)

    assert set(aquecidos) == {202}
    for resposta, espera_s in medidas:
        conferir_503(resposta)
        assert espera_s < ESPERA_MORTO_S
    assert depois == [202] * 60
    assert totais(servidor, site) == contas_de(100)


def test_recusa_tambem_nao_e_confirmada_sem_onde_contar(servidor: ServidorLocal, site: Site) -> None:
    conhecida = Site(id=site.id, chave="pk_live_ninguem", franquia=None)

    with servidor.sem_postgres():
        resposta = mandar(servidor, montar(conhecida, ["a"]))
    assert esperar(lambda: aceita_conexoes(servidor), VOLTA_S)

    conferir_503(resposta)


def test_postgres_congelado_da_503_em_segundos(servidor: ServidorLocal, site: Site) -> None:
    em_paralelo(lambda n: mandar(servidor, montar(site, [f"antes-{n}"])), range(40), threads=20)
    esperar_esvaziar(servidor)

    with servidor.congelado("postgres"):
        medidas = em_paralelo(
            lambda n: mandar_medindo(servidor, montar(site, [f"durante-{n}"]), prazo_s=ESPERA_CONGELADO_S),
            range(8),
            threads=8,
        )

    for resposta, espera_s in medidas:
        conferir_503(resposta, "armazenamento_lento")
        assert espera_s < ESPERA_CONGELADO_S


def test_congelamento_curto_do_postgres_nao_perde_nem_dobra(servidor: ServidorLocal, site: Site) -> None:
    status: list[int] = []

    def insistir(n: int) -> None:
        corpo = montar(site, [f"{n}-{i}" for i in range(5)], tipo="ERRO_JS")
        while (veio := mandar(servidor, corpo).status) != 202:
            status.append(veio)
        status.append(veio)

    threads = [threading.Thread(target=insistir, args=(n,)) for n in range(30)]
    with servidor.congelado("postgres"):
        for thread in threads:
            thread.start()
        threads[0].join(1.5)
    for thread in threads:
        thread.join(20)
    esperar_esvaziar(servidor)

    assert set(status) <= {202, 503}
    assert totais(servidor, site) == contas_de(150, erros=150)
