"""O supervisor: processos de verdade, curtos, vigiados no próprio teste ou por um supervisor à parte."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.supervisao.execucao import RECUO_INICIAL_S
from config.supervisao.processos import esta_vivo
from config.supervisao.servico import FalhaDePreparo, ParadaPedida, Servico
from config.supervisao.supervisor import Supervisor, encerrar_restos

RAIZ = Path(__file__).resolve().parents[2]

# Diz o próprio nome quando lhe pedem para sair, e sai.
OBEDIENTE = """
import os, signal, sys, time
def sair(*_):
    os.write(1, b"parei\\n")  # print não é reentrante: o sinal pode chegar no meio do outro
    sys.exit()
signal.signal(signal.SIGTERM, sair)
os.write(1, b"comecei\\n")
time.sleep(60)
"""
TEIMOSO = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("comecei", flush=True)
time.sleep(60)
"""
# Deixa um neto no mesmo grupo e diz o pid dele.
COM_NETO = """
import subprocess, sys, time
neto = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
print("neto", neto.pid, flush=True)
time.sleep(60)
"""


def descrever(nome: str, codigo: str, pasta: Path, **campos) -> Servico:
    comando = (sys.executable, "-S", "-c", codigo)
    return Servico(nome=nome, comando=comando, ambiente={"LASTRO_DADOS": str(pasta)}, pasta=pasta, **campos)


def aguardar(condicao: Callable[[], object], prazo_s: float = 8.0) -> bool:
    limite = time.monotonic() + prazo_s
    while time.monotonic() < limite:
        if condicao():
            return True
        time.sleep(0.02)
    return False


def ler_pid(dados: Path, nome: str) -> int:
    arquivo = dados / "pids" / f"{nome}.pid"
    assert aguardar(arquivo.exists), f"{nome} não começou"
    return int(arquivo.read_text())


def ler_registro(dados: Path, nome: str) -> str:
    return (dados / "registros" / f"{nome}.log").read_text()


@pytest.fixture
def terminal() -> Iterator[tuple[int, Callable[[], str]]]:
    """Um descritor para o supervisor escrever e como ler o que ele escreveu."""
    leitura, escrita = os.pipe()
    os.set_blocking(leitura, False)
    yield escrita, lambda: os.read(leitura, 65_536).decode()
    os.close(leitura)
    os.close(escrita)


# --- no próprio processo


def test_servico_morto_volta_com_outro_pid_e_o_arquivo_de_pid_acompanha(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    with Supervisor(tmp_path, descritor) as supervisor:
        supervisor.iniciar(descrever("web", OBEDIENTE, tmp_path))
        antigo = ler_pid(tmp_path, "web")
        assert supervisor.esperar(lambda: "comecei" in ler_registro(tmp_path, "web"), 5)
        morto_em = time.monotonic()
        os.kill(antigo, signal.SIGKILL)
        assert supervisor.esperar(lambda: ler_registro(tmp_path, "web").count("comecei") == 2, 5, 0.02)
        assert time.monotonic() - morto_em >= RECUO_INICIAL_S
        assert ler_pid(tmp_path, "web") != antigo
    escrito = ler()
    assert "[web] comecei" in escrito
    assert "[local] web terminou (sinal 9); volta em 0.2 s" in escrito


def test_recuo_dobra_a_cada_queda_seguida(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    with Supervisor(tmp_path, descritor) as supervisor:
        supervisor.iniciar(descrever("web", "raise SystemExit(3)", tmp_path))
        supervisor.esperar(lambda: False, 1.0)
    avisos = [linha for linha in ler().splitlines() if "volta em" in linha]
    assert avisos[:3] == [f"[local] web terminou (código 3); volta em {s} s" for s in ("0.2", "0.4", "0.8")]


def test_o_que_sobrou_do_grupo_morre_com_o_servico(tmp_path: Path, terminal) -> None:
    with Supervisor(tmp_path, terminal[0]) as supervisor:
        supervisor.iniciar(descrever("web", COM_NETO, tmp_path))
        assert supervisor.esperar(lambda: "neto" in ler_registro(tmp_path, "web"), 5)
        neto = int(ler_registro(tmp_path, "web").split()[-1])
        assert esta_vivo(neto)
        os.kill(ler_pid(tmp_path, "web"), signal.SIGKILL)
        assert supervisor.esperar(lambda: not esta_vivo(neto), 5)


def test_conserto_e_tentado_so_quando_o_servico_caiu_por_si(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    vistas: list[list[str]] = []

    def consertar(linhas) -> str:
        vistas.append(list(linhas))
        return "consertei"

    with Supervisor(tmp_path, descritor) as supervisor:
        codigo = "print('estragado', flush=True); raise SystemExit(1)"
        supervisor.iniciar(descrever("caido", codigo, tmp_path, ao_cair=consertar))
        supervisor.iniciar(descrever("morto", OBEDIENTE, tmp_path, ao_cair=lambda _: "não devia"))
        os.kill(ler_pid(tmp_path, "morto"), signal.SIGKILL)
        assert supervisor.esperar(lambda: vistas, 5)
    assert vistas[0] == ["estragado"]
    escrito = ler()
    assert "[local] caido: consertei" in escrito
    assert "não devia" not in escrito


def test_reinicio_que_nao_pode_comecar_e_tentado_de_novo(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    inicios: list[int] = []

    def conferir() -> None:
        inicios.append(1)
        if len(inicios) == 2:
            raise FalhaDePreparo("ainda não")

    with Supervisor(tmp_path, descritor) as supervisor:
        supervisor.iniciar(descrever("banco", OBEDIENTE, tmp_path, antes_de_iniciar=conferir))
        antigo = ler_pid(tmp_path, "banco")
        os.kill(antigo, signal.SIGKILL)
        assert supervisor.esperar(lambda: len(inicios) == 3, 5)
    assert "[local] banco: ainda não" in ler()


def test_comando_de_uma_vez_devolve_o_codigo_e_mostra_a_saida_sem_prefixo(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    with Supervisor(tmp_path, descritor) as supervisor:
        codigo = "print('barulho'); print('feito'); raise SystemExit(4)"
        servico = descrever("migrate", codigo, tmp_path, reinicia=False, prefixar=False)
        assert supervisor.executar_uma_vez(servico) == 4
    assert ler() == "barulho\nfeito\n"


def test_pedido_de_parada_interrompe_a_espera_e_para_tudo(tmp_path: Path, terminal) -> None:
    with pytest.raises(ParadaPedida), Supervisor(tmp_path, terminal[0]) as supervisor:
        supervisor.iniciar(descrever("web", OBEDIENTE, tmp_path))
        pid = ler_pid(tmp_path, "web")
        os.kill(os.getpid(), signal.SIGTERM)
        supervisor.esperar(lambda: False, 5)
    assert not esta_vivo(pid)
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_etapas_param_na_ordem_e_uma_so_depois_da_outra(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    with Supervisor(tmp_path, descritor) as supervisor:
        for etapa, nome in ((3, "postgres"), (2, "valkey"), (1, "web"), (0, "beat")):
            supervisor.iniciar(descrever(nome, OBEDIENTE, tmp_path, etapa_parada=etapa))
        nomes = ("postgres", "valkey", "web", "beat")
        assert supervisor.esperar(lambda: all("comecei" in ler_registro(tmp_path, n) for n in nomes), 5)
    paradas = [linha for linha in ler().splitlines() if linha.endswith("parei")]
    assert paradas == ["[beat] parei", "[web] parei", "[valkey] parei", "[postgres] parei"]
    assert list((tmp_path / "pids").iterdir()) == []


def test_quem_nao_para_no_prazo_leva_sigkill(tmp_path: Path, terminal) -> None:
    descritor, ler = terminal
    with Supervisor(tmp_path, descritor) as supervisor:
        supervisor.iniciar(descrever("worker", TEIMOSO, tmp_path, prazo_parada_s=0.3))
        assert supervisor.esperar(lambda: "comecei" in ler_registro(tmp_path, "worker"), 5)
        pid = ler_pid(tmp_path, "worker")
    assert not esta_vivo(pid)
    assert "worker não parou" in ler()


def test_restos_de_um_supervisor_morto_sao_encerrados_e_pid_alheio_nao(tmp_path: Path) -> None:
    (tmp_path / "pids").mkdir()
    processos = []
    for nome, ambiente in (("web", {"LASTRO_DADOS": str(tmp_path)}), ("beat", {"LASTRO_DADOS": "/outro"})):
        comando = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
        processo = subprocess.Popen(comando, env=ambiente, start_new_session=True)
        (tmp_path / "pids" / f"{nome}.pid").write_text(f"{processo.pid}\n")
        processos.append(processo)
    resto, alheio = processos
    try:
        assert encerrar_restos(tmp_path) == [resto.pid]
        assert resto.wait(5) == -signal.SIGTERM
        assert alheio.poll() is None
    finally:
        alheio.kill()
        alheio.wait()


# --- um supervisor à parte

A_PARTE = """
import os, sys
from pathlib import Path
from config.supervisao.servico import Servico
from config.supervisao.supervisor import Supervisor
dados = Path(sys.argv[1])
with Supervisor(dados) as supervisor:
    for nome, codigo in zip(sys.argv[2::2], sys.argv[3::2]):
        supervisor.iniciar(Servico(
            nome=nome, comando=(sys.executable, "-S", "-c", codigo), ambiente=dict(os.environ),
            pasta=dados, prazo_parada_s=30,
        ))
    supervisor.manter()
"""


@pytest.fixture
def iniciar_a_parte(tmp_path: Path) -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    iniciados: list[subprocess.Popen[bytes]] = []

    def iniciar(*servicos: str) -> "subprocess.Popen[bytes]":
        processo = subprocess.Popen(
            [sys.executable, "-c", A_PARTE, str(tmp_path), *servicos],
            cwd=RAIZ,
            env={**os.environ, "LASTRO_DADOS": str(tmp_path)},
            stdout=subprocess.DEVNULL,
        )
        iniciados.append(processo)
        for nome in servicos[::2]:
            arquivo = tmp_path / "registros" / f"{nome}.log"
            assert aguardar(lambda arquivo=arquivo: arquivo.exists() and arquivo.stat().st_size)
        return processo

    yield iniciar
    for processo in iniciados:
        processo.kill()
        processo.wait()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="só o Linux avisa o filho da morte do pai")
def test_supervisor_morto_por_sigkill_nao_deixa_filhos(tmp_path: Path, iniciar_a_parte) -> None:
    supervisor = iniciar_a_parte("web", OBEDIENTE, "worker", OBEDIENTE)
    pids = [ler_pid(tmp_path, nome) for nome in ("web", "worker")]
    assert all(esta_vivo(pid) for pid in pids)
    supervisor.kill()
    assert aguardar(lambda: not any(esta_vivo(pid) for pid in pids), 3)


def test_sigterm_para_tudo_e_sai_com_zero(tmp_path: Path, iniciar_a_parte) -> None:
    supervisor = iniciar_a_parte("web", OBEDIENTE, "worker", OBEDIENTE)
    pids = [ler_pid(tmp_path, nome) for nome in ("web", "worker")]
    supervisor.terminate()
    assert supervisor.wait(5) == 0
    assert not any(esta_vivo(pid) for pid in pids)


def test_segundo_ctrl_c_forca_e_o_repetido_na_hora_nao(tmp_path: Path, iniciar_a_parte) -> None:
    supervisor = iniciar_a_parte("worker", TEIMOSO)
    supervisor.send_signal(signal.SIGINT)
    time.sleep(0.1)
    supervisor.send_signal(signal.SIGINT)
    time.sleep(1.1)
    assert supervisor.poll() is None
    supervisor.send_signal(signal.SIGINT)
    assert supervisor.wait(5) == 0
