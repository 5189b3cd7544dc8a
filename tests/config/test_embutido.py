"""PostgreSQL e Valkey embutidos: servidores de verdade, em pastas que somem ao fim de cada teste."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psycopg
import pytest
import redis

from config.embutido import iniciar_servidores, pastas, postgres, valkey
from config.embutido.ajustes_postgres import MIB, montar_ajustes
from config.embutido.enderecos import Enderecos, apagar_enderecos, gravar_enderecos, ler_enderecos
from config.embutido.pastas import ErroDePasta, alcancar_binarios, escolher_lugar, preparar_soquetes
from config.embutido.servidor import ServidorEmbutido
from config.embutido.sessao import manter_no_ar
from config.embutido.trava import DadosEmUso, Trava
from config.embutido.usuario import ErroDeUsuario, Usuario, alcanca, decidir_usuario
from config.supervisao.processos import encerrar, esta_vivo, montar_lancamento

SOU_ROOT = os.geteuid() == 0
NINGUEM = Usuario(nome="nobody", uid=65_534, gid=65_534)


@pytest.fixture
def area() -> Iterator[Path]:
    # A tmp_path do pytest é 0700: como root, o usuário do banco não a atravessa (há um teste só para isso).
    pasta = Path(tempfile.mkdtemp(prefix="lastro-t", dir="/tmp")).resolve()
    pasta.chmod(0o755)
    yield pasta
    shutil.rmtree(pasta)


@pytest.fixture
def dados(area: Path) -> Path:
    (area / "dados").mkdir()
    return area / "dados"


def gravar_linha(banco_url: str, valor: int) -> None:
    with psycopg.connect(banco_url) as conexao:
        conexao.execute("CREATE TABLE IF NOT EXISTS linha (valor int)")
        conexao.execute("INSERT INTO linha VALUES (%s)", [valor])


def ler_linhas(banco_url: str) -> list[int]:
    with psycopg.connect(banco_url) as conexao:
        return [valor for (valor,) in conexao.execute("SELECT valor FROM linha ORDER BY valor")]


def iniciar_orfao(servidor: ServidorEmbutido) -> "subprocess.Popen[bytes]":
    """Inicia o servidor sem ninguém que o pare (sinal de orfandade zero)."""
    dono = servidor.usuario
    comando = montar_lancamento(
        servidor.comando, sinal_orfandade=0, uid=dono and dono.uid, gid=dono and dono.gid
    )
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


# --- endereços


def test_enderecos_gravados_sao_lidos_e_so_o_dono_os_le(tmp_path: Path) -> None:
    enderecos = Enderecos(banco_url="postgresql://lastro@/lastro?host=%2Fx", redis_url="unix:///x?db=0")
    gravar_enderecos(tmp_path, enderecos)
    assert ler_enderecos(tmp_path) == enderecos
    assert [p.name for p in tmp_path.iterdir()] == ["enderecos.json"]
    assert stat.S_IMODE((tmp_path / "enderecos.json").stat().st_mode) == 0o600


@pytest.mark.parametrize("conteudo", ["", '{"banco_url": "x"', "[]", '{"banco_url": "x"}'])
def test_arquivo_de_enderecos_cortado_vale_nenhum(tmp_path: Path, conteudo: str) -> None:
    (tmp_path / "enderecos.json").write_text(conteudo)
    assert ler_enderecos(tmp_path) is None


def test_apagar_enderecos_que_nao_existem_nao_reclama(tmp_path: Path) -> None:
    apagar_enderecos(tmp_path)
    assert ler_enderecos(tmp_path) is None


# --- usuário


def procurar_em(nomes: dict[str, int]):
    def procurar(nome: str) -> pwd.struct_passwd:
        return pwd.struct_passwd((nome, "x", nomes[nome], nomes[nome], "", "/", ""))

    return procurar


def test_quem_nao_e_root_roda_como_ele_mesmo() -> None:
    assert decidir_usuario({}, 1000, procurar_em({"postgres": 26})) is None


def test_root_prefere_o_pedido_depois_postgres_depois_nobody() -> None:
    nomes = {"banco": 900, "postgres": 26, "nobody": 65_534}
    pedido = {"LASTRO_USUARIO_BANCO": "banco"}
    assert decidir_usuario(pedido, 0, procurar_em(nomes)) == Usuario(nome="banco", uid=900, gid=900)
    assert decidir_usuario({}, 0, procurar_em(nomes)) == Usuario(nome="postgres", uid=26, gid=26)
    assert decidir_usuario({}, 0, procurar_em({"nobody": 65_534})) == NINGUEM


@pytest.mark.parametrize("pedido", ["root", "inexistente"])
def test_usuario_pedido_que_nao_serve_e_recusado_pelo_nome(pedido: str) -> None:
    with pytest.raises(ErroDeUsuario, match=pedido):
        decidir_usuario({"LASTRO_USUARIO_BANCO": pedido}, 0, procurar_em({"root": 0, "nobody": 65_534}))


@pytest.mark.parametrize(
    ("uid", "gid", "modo", "esperado"),
    [
        (0, 0, 0o711, True),
        (0, 0, 0o700, False),
        (0, 65_534, 0o710, True),
        (65_534, 0, 0o700, True),
        (65_534, 65_534, 0o677, False),  # o dono é julgado só pelos bits do dono
        (0, 65_534, 0o701, False),  # e o grupo só pelos do grupo
    ],
)
def test_alcance_olha_cada_pasta_do_caminho(uid: int, gid: int, modo: int, esperado: bool) -> None:
    aberta = SimpleNamespace(st_uid=0, st_gid=0, st_mode=0o755)
    estados = {Path("/a"): SimpleNamespace(st_uid=uid, st_gid=gid, st_mode=modo)}
    assert alcanca(NINGUEM, Path("/a/b/c"), lambda p: estados.get(p, aberta)) is esperado


# --- pastas


@pytest.fixture
def raiz_sistema(area: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    raiz = area / "sistema"
    monkeypatch.setattr(pastas, "RAIZ_SISTEMA", raiz)
    return raiz


@pytest.fixture
def fechada(area: Path) -> Path:
    """Pasta de dados abaixo de uma 0700, como sob /root."""
    (area / "fechada" / "dados").mkdir(parents=True)
    (area / "fechada").chmod(0o700)
    return area / "fechada" / "dados"


def alheio() -> Usuario:
    """Alguém que não é o dono das pastas do teste."""
    return NINGUEM if os.geteuid() != NINGUEM.uid else Usuario(nome="outro", uid=1, gid=1)


def test_pasta_fora_de_alcance_vai_para_a_raiz_do_sistema_sem_afrouxar_nada(
    fechada: Path, raiz_sistema: Path
) -> None:
    lugar = escolher_lugar(fechada, alheio())
    assert lugar.base.parent == raiz_sistema
    assert stat.S_IMODE(fechada.parent.stat().st_mode) == 0o700
    assert escolher_lugar(fechada, alheio()) == lugar


def test_afrouxar_a_pasta_depois_nao_troca_os_dados_de_lugar(fechada: Path, raiz_sistema: Path) -> None:
    lugar = escolher_lugar(fechada, alheio())
    fechada.parent.chmod(0o755)
    assert escolher_lugar(fechada, alheio()) == lugar


def test_apertar_a_pasta_depois_e_erro_e_nao_banco_vazio(dados: Path, raiz_sistema: Path) -> None:
    (dados / "postgres").mkdir()
    dados.chmod(0o700)
    with pytest.raises(ErroDePasta, match="já não atravessa"):
        escolher_lugar(dados, alheio())
    assert not raiz_sistema.exists()


def test_dados_movidos_levam_os_servidores_junto_e_copiados_sao_recusados(
    fechada: Path, raiz_sistema: Path
) -> None:
    lugar = escolher_lugar(fechada, alheio())
    movida = fechada.rename(fechada.with_name("movida"))
    assert escolher_lugar(movida, alheio()).base == lugar.base
    copia = shutil.copytree(movida, movida.with_name("copia"))
    with pytest.raises(ErroDePasta, match="parece cópia"):
        escolher_lugar(copia, alheio())


def test_dados_apagados_recomecam_vazios_e_os_antigos_sao_separados(
    fechada: Path, raiz_sistema: Path
) -> None:
    antiga = escolher_lugar(fechada, alheio()).base
    (antiga / "guardado").touch()
    shutil.rmtree(fechada)
    fechada.mkdir()
    nova = escolher_lugar(fechada, alheio()).base
    assert nova == antiga
    assert not (nova / "guardado").exists()
    assert [p.name for p in raiz_sistema.glob("*.antes-*/guardado")] == ["guardado"]


def test_binarios_fora_de_alcance_sao_copiados_uma_vez(fechada: Path, raiz_sistema: Path) -> None:
    pacote, bibliotecas = fechada / "pacote", fechada / "pacote.libs"
    (pacote / "bin").mkdir(parents=True)
    bibliotecas.mkdir()
    programa = pacote / "bin" / "programa"
    programa.write_text("#!/bin/sh\n")
    programa.chmod(0o700)
    (bibliotecas / "libx.so").touch(0o600)
    copia = alcancar_binarios((pacote, bibliotecas), "1.0", programa, alheio())
    assert copia == raiz_sistema / "binarios-1.0" / "pacote" / "bin" / "programa"
    assert stat.S_IMODE(copia.stat().st_mode) == 0o755
    assert (copia.parents[2] / "pacote.libs" / "libx.so").exists()
    programa.write_text("outro")
    assert alcancar_binarios((pacote, bibliotecas), "1.0", programa, alheio()).read_text() == "#!/bin/sh\n"


def test_caminho_longo_poe_os_soquetes_numa_pasta_curta(area: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pastas, "RAIZ_SOQUETES", area)
    base = area / ("p" * 90)
    base.mkdir()
    soquetes = preparar_soquetes(base, None)
    assert soquetes.parent == area
    assert stat.S_IMODE(soquetes.stat().st_mode) == 0o700
    assert preparar_soquetes(base, None) == soquetes


@pytest.mark.parametrize("tomada", ["aberta", "link"])
def test_pasta_de_soquetes_tomada_por_outro_e_recusada(
    area: Path, monkeypatch: pytest.MonkeyPatch, tomada: str
) -> None:
    monkeypatch.setattr(pastas, "RAIZ_SOQUETES", area)
    base = area / ("p" * 90)
    base.mkdir()
    soquetes = preparar_soquetes(base, None)
    if tomada == "aberta":
        soquetes.chmod(0o777)
    else:
        soquetes.rmdir()
        soquetes.symlink_to(base)
    with pytest.raises(ErroDePasta, match="deveria ser uma pasta 0700"):
        preparar_soquetes(base, None)


def test_segundo_dono_da_pasta_e_recusado_com_o_pid_do_primeiro(tmp_path: Path) -> None:
    trava = Trava(tmp_path)
    with pytest.raises(DadosEmUso, match=f"processo {os.getpid()}") as recusa:
        Trava(tmp_path)
    assert recusa.value.pid == os.getpid()
    trava.soltar()
    Trava(tmp_path).soltar()


@pytest.mark.parametrize(("memoria_mb", "esperado"), [(64, "32MB"), (2048, "512MB"), (65_536, "1024MB")])
def test_memoria_compartilhada_e_um_quarto_com_teto(memoria_mb: int, esperado: str) -> None:
    ajustes = montar_ajustes(
        memoria_bytes=memoria_mb * MIB, lz4=False, soquetes=Path("/s"), nome_grupo="lastro_x"
    )
    assert ajustes["shared_buffers"] == esperado
    assert ajustes["wal_compression"] == "pglz"


# --- servidores de verdade


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
