"""O que a porta conta de cada resposta, somado entre os processos e até com o banco fora."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as ajustes
from django.db import OperationalError
from django.test import Client

from config import contagem, porta
from painel.metricas import familias, views
from tests.config.test_porta import visitar
from tests.painel.metricas.conftest import Contadas, ler, um


def test_porta_conta_respostas_por_fluxo_status_e_codigo(
    contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitar("/saude", [b""], metodo="GET")
    visitar("/dlr/mensagens", [b"meio", None])
    monkeypatch.setattr(porta, "_em_curso", porta.ESPERA_MAXIMA)
    for _ in range(3):
        visitar("/dlr/mensagens", [b"{}"])
    assert contadas() == {
        ("outro", "200", ""): 1,
        ("dlr", "400", "corpo_incompleto"): 1,
        ("dlr", "503", "porta_cheia"): 3,
    }


@pytest.mark.parametrize(
    "corpo", [b"", b"<html>", b"[]", b'{"codigo": 7}', b"{" + b" " * 4096 + b"}", b"\xff"]
)
def test_resposta_sem_codigo_nosso_conta_sem_motivo(contadas: Contadas, corpo: bytes) -> None:
    contagem.contar("dlr", 503, corpo)
    assert contadas() == {("dlr", "503", ""): 1}


def test_um_scrape_soma_os_processos_ate_os_que_morreram_na_marra(tmp_path: Path) -> None:
    """Três processos do mesmo pai contam e morrem de SIGKILL; um quarto lê a soma."""
    contar = (
        "import os, signal\nfrom config import contagem\n"
        "for _ in range(5): contagem.contar('evento', 503, b'{\"codigo\": \"fila_cheia\"}')\n"
        "print(flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ver = "from config import contagem\nfrom prometheus_client import generate_latest\n"
    ver += "print(generate_latest(contagem.ler_respostas()).decode())"
    ambiente = {**os.environ, "TMPDIR": str(tmp_path)}
    ambiente.pop("PROMETHEUS_MULTIPROC_DIR", None)

    def rodar(codigo: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", codigo], env=ambiente, cwd=ajustes.BASE_DIR, capture_output=True, text=True
        ).stdout

    for _ in range(3):
        rodar(contar)
    assert 'lastro_respostas_total{codigo="fila_cheia",fluxo="evento",status="503"} 15.0' in rodar(ver)


def test_contas_de_uma_web_que_acabou_sao_apagadas_e_as_dos_outros_nao(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contagem, "RAIZ_DAS_CONTAS", tmp_path)
    monkeypatch.setattr(contagem, "_SOMAS", {})
    monkeypatch.setattr(contagem, "PASTA", tmp_path / "nova")
    (tmp_path / "4194305").mkdir()  # acima do maior pid do Linux
    (tmp_path / str(os.getpid())).mkdir()
    contagem.contar("evento", 202, b"")
    assert {pasta.name for pasta in tmp_path.iterdir()} == {"nova", str(os.getpid())}


def test_pasta_que_nao_se_pode_criar_nao_derruba_a_porta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arquivo").write_text("")
    monkeypatch.setattr(contagem, "PASTA", tmp_path / "arquivo" / "1")
    monkeypatch.setattr(contagem, "RAIZ_DAS_CONTAS", tmp_path / "arquivo")
    monkeypatch.setattr(contagem, "_SOMAS", {})
    assert visitar("/saude", [b""], metodo="GET")[0]["status"] == 200


def test_com_o_banco_fora_a_pagina_diz_isso_e_mostra_a_porta(
    client: Client, contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cair() -> Iterator[Any]:
        raise OperationalError("conexão recusada")
        yield

    contagem.contar("evento", 503, b'{"codigo": "armazenamento_indisponivel"}')
    monkeypatch.setattr(familias, "MEDIDORES", (cair,))
    pagina = ler(client)
    assert um(pagina, "banco_acessivel") == 0
    assert contadas() == {("evento", "503", "armazenamento_indisponivel"): 1}


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="o macOS não reserva blocos")
def test_o_arquivo_das_contas_nasce_com_os_blocos_ocupados(tmp_path: Path) -> None:
    """Esparso, uma escrita na memória mapeada com o disco cheio mataria a web com SIGBUS."""
    contar = "from config import contagem; contagem.contar('evento', 503, b''); print(contagem.PASTA)"
    saida = subprocess.run(
        [sys.executable, "-c", contar],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        cwd=ajustes.BASE_DIR,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (arquivo,) = Path(saida.strip()).glob("counter_*.db")
    assert arquivo.stat().st_blocks * 512 >= contagem.ARQUIVO_BYTES


def test_as_respostas_da_pagina_sao_as_de_agora(contadas: Contadas, monkeypatch: pytest.MonkeyPatch) -> None:
    """Só o que vem do banco se guarda por segundos: duas leituras seguidas não andam para trás."""
    monkeypatch.setattr(views, "VALIDADE_S", 60.0)
    contadas()
    contagem.contar("dlr", 503, b"")
    assert contadas() == {("dlr", "503", ""): 1}
