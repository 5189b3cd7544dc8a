"""O Lastro inteiro por trás de cada peça de fora: sob carga, com a peça caindo, as contas fecham."""

from contextlib import ExitStack
from pathlib import Path

import redis

from config.embutido.enderecos import Enderecos
from tests.caos.fluxo_eventos import criar_sites
from tests.caos.servidor import ServidorLocal, esperar
from tests.escala.pecas import matar, pgbouncer, rabbitmq, redis_vigiado
from tests.falhas.carga import contas_de, em_paralelo, esperar_esvaziar, mandar, montar, totais

LOTES, POR_LOTE = 200, 10
CONEXOES_AO_BANCO = 4
SEM_LIMITE = {"LASTRO_LIMITE_POR_MINUTO": "10000000"}


def servidor_com(pilha: ExitStack, **ambiente: str) -> ServidorLocal:
    return pilha.enter_context(ServidorLocal(ambiente={**SEM_LIMITE, **ambiente}))


def mandar_tudo(servidor: ServidorLocal, site, prefixo: str, *, lotes: int = LOTES) -> set[int]:
    """Lotes em paralelo, em vinte sessões; os status que voltaram."""
    corpos = [
        montar(site, [f"{prefixo}{n}-{i}" for i in range(POR_LOTE)], sessao=f"s{n % 20}", tipo="ERRO_JS")
        for n in range(lotes)
    ]
    return {resposta.status for resposta in em_paralelo(lambda c: mandar(servidor, c), corpos, threads=16)}


def test_pgbouncer_em_modo_transacao_com_menos_conexoes_que_threads(
    pilha: ExitStack, pasta: Path, embutidos: Enderecos
) -> None:
    url = pilha.enter_context(pgbouncer(pasta, embutidos.banco_url, conexoes=CONEXOES_AO_BANCO))
    servidor = servidor_com(
        pilha, DATABASE_URL=url, REDIS_URL=embutidos.redis_url, LASTRO_ATRAS_DE_PGBOUNCER="1"
    )
    (site,) = criar_sites(servidor, 1)
    assert mandar_tudo(servidor, site, "a") == {202}
    assert mandar_tudo(servidor, site, "a") == {202}  # tudo outra vez: nada muda
    esperar_esvaziar(servidor)
    assert totais(servidor, site) == contas_de(LOTES * POR_LOTE, LOTES * POR_LOTE)


def test_troca_de_mestre_pelas_sentinelas_sob_carga(
    pilha: ExitStack, pasta: Path, embutidos: Enderecos
) -> None:
    url, mestre = pilha.enter_context(redis_vigiado(pasta))
    servidor = servidor_com(pilha, DATABASE_URL=embutidos.banco_url, REDIS_URL=url)
    (site,) = criar_sites(servidor, 1)
    assert mandar_tudo(servidor, site, "a") == {202}
    matar(mestre)
    assert mandar_tudo(servidor, site, "b") == {202}  # sem mestre: a porta continua
    porta = int(url.removeprefix("sentinel://127.0.0.1:").partition(",")[0])
    with redis.Redis(port=porta) as vigia:
        antigo = mestre.args[-1]
        assert esperar(lambda: str(vigia.sentinel_get_master_addr_by_name("principal")[1]) != antigo, 60)
    assert mandar_tudo(servidor, site, "c") == {202}
    esperar_esvaziar(servidor)
    assert totais(servidor, site) == contas_de(3 * LOTES * POR_LOTE, 3 * LOTES * POR_LOTE)


def test_rabbitmq_como_broker(pilha: ExitStack, pasta: Path, embutidos: Enderecos) -> None:
    url = pilha.enter_context(rabbitmq(pasta))
    servidor = servidor_com(
        pilha,
        DATABASE_URL=embutidos.banco_url,
        REDIS_URL=embutidos.redis_url,
        LASTRO_BROKER_URL=url,
    )
    (site,) = criar_sites(servidor, 1)
    assert mandar_tudo(servidor, site, "a") == {202}
    esperar_esvaziar(servidor)
    assert totais(servidor, site) == contas_de(LOTES * POR_LOTE, LOTES * POR_LOTE)
