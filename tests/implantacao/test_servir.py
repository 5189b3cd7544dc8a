"""`manage.py servir`: os processos de produção, de verdade, fora do supervisor do modo local."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from tests.caos.envio import SemResposta, perguntar
from tests.caos.servidor import esperar, porta_livre

RAIZ = Path(__file__).resolve().parents[2]


@contextmanager
def servindo(papel: str, porta: int, saida: Path) -> Iterator[subprocess.Popen[bytes]]:
    ambiente = {**os.environ, "PORTA": str(porta), "LASTRO_LOCAL": "0", "LASTRO_HOSPEDEIROS": "localhost"}
    comando = [sys.executable, "manage.py", "servir", papel, "--processos", "1"]
    with saida.open("wb") as arquivo:
        processo = subprocess.Popen(comando, cwd=RAIZ, env=ambiente, stdout=arquivo, stderr=arquivo)
    try:
        yield processo
    finally:
        if processo.poll() is None:
            processo.kill()
            processo.wait(10)


def esta_viva(porta: int) -> bool:
    try:
        return perguntar(porta, "/saude", prazo_s=5).status == 200
    except SemResposta:
        return False


def test_a_web_de_producao_atende_e_sai_com_sigterm(tmp_path: Path) -> None:
    porta = porta_livre()
    with servindo("web", porta, tmp_path / "saida") as web:
        assert esperar(lambda: esta_viva(porta), 60), (tmp_path / "saida").read_text()
        web.send_signal(signal.SIGTERM)
        assert web.wait(30) == 0


@pytest.mark.parametrize("papel", ["worker", "beat"])
def test_worker_e_beat_de_producao_comecam_e_saem_com_sigterm(papel: str, tmp_path: Path) -> None:
    with servindo(papel, porta_livre(), tmp_path / "saida") as processo:
        com_celery = f"/proc/{processo.pid}/cmdline"
        assert esperar(lambda: b"celery" in Path(com_celery).read_bytes(), 30)  # o exec manteve o pid
        assert not esperar(lambda: processo.poll() is not None, 4), (tmp_path / "saida").read_text()
        processo.send_signal(signal.SIGTERM)
        assert processo.wait(40) == 0


def test_porta_que_nao_e_porta_e_dita(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTA", "oitenta")
    with pytest.raises(CommandError, match="PORTA=oitenta"):
        call_command("servir", "web")


def test_zero_processos_e_recusado() -> None:
    with pytest.raises(CommandError, match="--processos"):
        call_command("servir", "worker", "--processos", "0")
