"""PostgreSQL e Valkey embutidos: servidores de verdade, em pastas que somem ao fim de cada teste."""

import os
import signal
import stat
import subprocess
from pathlib import Path

import psycopg
import pytest
import redis

from config.embutido import iniciar_servidores, postgres, valkey
from config.embutido.servidor import ServidorEmbutido
from config.embutido.sessao import manter_no_ar
from config.embutido.usuario import Usuario, identificar
from config.supervisao.processos import encerrar, esta_vivo, montar_lancamento

SOU_ROOT = os.geteuid() == 0
NINGUEM = Usuario(nome="nobody", uid=65_534, gid=65_534)


def gravar_linha(banco_url: str, valor: int) -> None:
    with psycopg.connect(banco_url) as conexao:
        conexao.execute("CREATE TABLE IF NOT EXISTS linha (valor int)")
        conexao.execute("INSERT INTO linha VALUES (%s)", [valor])


def ler_linhas(banco_url: str) -> list[int]:
    with psycopg.connect(banco_url) as conexao:
        return [valor for (valor,) in conexao.execute("SELECT valor FROM linha ORDER BY valor")]


def iniciar_orfao(servidor: ServidorEmbutido) -> "subprocess.Popen[bytes]":
    """Inicia o servidor sem ninguém que o pare (sinal de orfandade zero)."""
    comando = montar_lancamento(servidor.comando, sinal_orfandade=0, identidade=identificar(servidor.usuario))
    processo = subprocess.Popen(
        comando,
        env=servidor.ambiente,
        cwd=servidor.pasta,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    servidor.esperar_pronto(20, lambda: processo.poll() is None)
    return processo


def test_segundo_inicio_nos_mesmos_dados_guarda_o_que_foi_gravado(dados: Path) -> None:
    with iniciar_servidores(dados) as enderecos:
        gravar_linha(enderecos.banco_url, 1)
        redis.from_url(enderecos.redis_url).set("chave", "valor")
        with psycopg.connect(enderecos.banco_url) as conexao:
            nomes = ("data_checksums", "synchronous_commit", "fsync", "listen_addresses", "server_encoding")
            vigentes = [conexao.execute(f"SHOW {nome}").fetchone()[0] for nome in nomes]
    assert vigentes == ["on", "on", "on", "", "UTF8"]
    with iniciar_servidores(dados) as enderecos:
        assert ler_linhas(enderecos.banco_url) == [1]
        servidor = redis.from_url(enderecos.redis_url)
        assert servidor.get("chave") == b"valor"
        assert servidor.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    assert stat.S_IMODE((dados / "postgres").stat().st_mode) == 0o700
    assert stat.S_IMODE((dados / "soquetes").stat().st_mode) == 0o700


def test_postmaster_morto_por_sigkill_volta_com_as_linhas_confirmadas(dados: Path) -> None:
    with iniciar_servidores(dados) as enderecos:
        gravar_linha(enderecos.banco_url, 7)
        pid = int((dados / "postgres" / "postmaster.pid").read_text().split()[0])
        os.kill(pid, signal.SIGKILL)
    # Como depois de um reinício da máquina: o arquivo de pid ficou, e o número é de outro programa.
    (dados / "postgres" / "postmaster.pid").write_text(f"{os.getpid()}\n{dados / 'postgres'}\n1\n5432\n")
    with iniciar_servidores(dados) as enderecos:
        assert ler_linhas(enderecos.banco_url) == [7]


def test_servidores_orfaos_dos_mesmos_dados_sao_encerrados_antes(dados: Path) -> None:
    orfaos = [iniciar_orfao(modulo.preparar(dados)) for modulo in (postgres, valkey)]
    gravar_linha(postgres.preparar(dados).url, 3)
    with iniciar_servidores(dados) as enderecos:
        assert [orfao.wait(5) for orfao in orfaos] == [0, 0]
        assert ler_linhas(enderecos.banco_url) == [3]


def test_conexao_sem_postmaster_nao_impede_o_inicio(dados: Path) -> None:
    servidor = postgres.preparar(dados)
    processo = iniciar_orfao(servidor)
    with psycopg.connect(servidor.url, autocommit=True) as conexao:
        filho = conexao.info.backend_pid
        # Parado, o filho não percebe que o postmaster morreu e continua preso à memória compartilhada.
        os.kill(filho, signal.SIGSTOP)
        os.kill(processo.pid, signal.SIGKILL)
        processo.wait()
        assert esta_vivo(filho)
        servidor.limpar_restos()
        assert not esta_vivo(filho)


@pytest.mark.parametrize("estrago", ["manifesto", "base_apagada", "base_com_lixo"])
def test_aof_estragado_e_separado_e_o_valkey_comeca_vazio(dados: Path, estrago: str) -> None:
    servidor = valkey.preparar(dados)
    processo = iniciar_orfao(servidor)
    redis.from_url(servidor.url).set("chave", "valor")
    encerrar([processo.pid], [(signal.SIGKILL, 5)])
    processo.wait()
    aof = dados / "valkey" / valkey.PASTA_AOF
    if estrago == "manifesto":
        next(aof.glob("*.manifest")).write_text("lixo\n")
    elif estrago == "base_apagada":
        next(aof.glob("*.base.rdb")).unlink()
    else:
        next(aof.glob("*.base.rdb")).write_bytes(b"\0" * 64)
    with manter_no_ar(valkey.preparar(dados), dados):
        assert redis.from_url(servidor.url).dbsize() == 0
    assert len(list((dados / "valkey").glob("*.estragado-*"))) == 1


def test_aof_cortado_no_meio_de_um_comando_perde_so_o_final(dados: Path) -> None:
    servidor = valkey.preparar(dados)
    processo = iniciar_orfao(servidor)
    redis.from_url(servidor.url).mset({"a": 1})
    redis.from_url(servidor.url).set("b", 2)
    encerrar([processo.pid], [(signal.SIGTERM, 5)])
    processo.wait()
    incremental = next((dados / "valkey" / valkey.PASTA_AOF).glob("*.incr.aof"))
    os.truncate(incremental, incremental.stat().st_size - 5)
    with manter_no_ar(valkey.preparar(dados), dados):
        cliente = redis.from_url(servidor.url)
        assert (cliente.get("a"), cliente.get("b")) == (b"1", None)
    assert not list((dados / "valkey").glob("*.estragado-*"))


def test_montagem_interrompida_e_refeita(dados: Path) -> None:
    (dados / "postgres.montando" / "base").mkdir(parents=True)
    (dados / "postgres").mkdir()
    (dados / "postgres" / "PG_VERSION").write_text("18\n")
    with iniciar_servidores(dados) as enderecos:
        gravar_linha(enderecos.banco_url, 1)
    assert not (dados / "postgres.montando").exists()
    # A que tinha o nome definitivo não foi feita por nós: separada, e não apagada.
    assert [p.read_text() for p in dados.glob("postgres.incompleta-*/PG_VERSION")] == ["18\n"]


def test_sob_pasta_fechada_os_servidores_funcionam_mesmo_como_root(fechada: Path, raiz_sistema: Path) -> None:
    with iniciar_servidores(fechada) as enderecos:
        gravar_linha(enderecos.banco_url, 1)
        assert redis.from_url(enderecos.redis_url).ping()
    assert stat.S_IMODE(fechada.parent.stat().st_mode) == 0o700
    assert (fechada / "postgres").exists() is not SOU_ROOT
    assert raiz_sistema.exists() is SOU_ROOT
