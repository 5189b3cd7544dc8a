"""Onde os servidores embutidos ficam e com que usuário: as regras, sem servidor algum."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from config.embutido import pastas
from config.embutido.ajustes_postgres import MIB, montar_ajustes
from config.embutido.enderecos import Enderecos, apagar_enderecos, gravar_enderecos, ler_enderecos
from config.embutido.pastas import ErroDePasta, alcancar_binarios, escolher_lugar, preparar_soquetes
from config.embutido.trava import DadosEmUso, Trava
from config.embutido.usuario import ErroDeUsuario, Usuario, alcanca, decidir_usuario

NINGUEM = Usuario(nome="nobody", uid=65_534, gid=65_534)


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


def test_apertar_a_pasta_depois_e_erro_e_nao_banco_vazio(
    dados: Path, raiz_sistema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (dados / "postgres").mkdir()
    monkeypatch.setattr(pastas, "buscar_dono", lambda _: alheio())
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


def test_varios_processos_no_primeiro_inicio_acabam_com_a_mesma_copia(
    raiz_sistema: Path, fechada: Path
) -> None:
    pacote = fechada / "pacote"
    pacote.mkdir()
    for n in range(300):  # para que as cópias se cruzem
        (pacote / f"lib{n}.so").write_bytes(bytes(10_000))
    (pacote / "programa").write_text("#!/bin/sh\n")
    codigo = (
        "import sys; from pathlib import Path; from config.embutido import pastas;"
        "from tests.config.test_embutido_pastas import alheio;"
        "pastas.RAIZ_SISTEMA = Path(sys.argv[1]); pacote = Path(sys.argv[2]); input();"
        "print(pastas.alcancar_binarios((pacote,), '1.0', pacote / 'programa', alheio()))"
    )
    comando = [sys.executable, "-c", codigo, str(raiz_sistema), str(pacote)]
    processos = [
        subprocess.Popen(comando, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for processo in processos:
        assert processo.stdin is not None
        processo.stdin.write("já\n")
        processo.stdin.flush()
    saidas = [processo.communicate(timeout=60)[0].strip() for processo in processos]
    assert saidas == [str(raiz_sistema / "binarios-1.0" / "pacote" / "programa")] * 4
    assert [pasta.name for pasta in raiz_sistema.iterdir()] == ["binarios-1.0"]


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
    assert ajustes["wal_compression"] == "off"
