"""`manage.py local` antes de iniciar qualquer coisa: a pasta e a porta."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from config.embutido.trava import Trava

RAIZ = Path(__file__).resolve().parents[2]


def rodar_local(dados: Path, porta: int) -> "subprocess.CompletedProcess[str]":
    ambiente = {**os.environ, "LASTRO_DADOS": str(dados), "PORTA": str(porta)}
    comando = [sys.executable, str(RAIZ / "manage.py"), "local"]
    return subprocess.run(comando, env=ambiente, capture_output=True, text=True, timeout=30)


def test_local_com_a_pasta_em_uso_diz_quem_a_usa_e_sai_com_um(tmp_path: Path) -> None:
    trava = Trava(tmp_path)
    fim = rodar_local(tmp_path, 1)
    trava.soltar()
    assert fim.returncode == 1
    assert f"já está em uso por outro `manage.py local` (processo {os.getpid()})" in fim.stderr


def test_local_com_a_porta_ocupada_diz_o_que_fazer_e_nao_inicia_nada(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as ocupante:
        porta = ocupante.getsockname()[1]
        fim = rodar_local(tmp_path, porta)
    assert fim.returncode == 1
    assert f"Não dá para atender em 127.0.0.1:{porta}" in fim.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["local.trava"]
