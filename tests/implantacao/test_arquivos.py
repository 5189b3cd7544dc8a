"""Os arquivos de implantação dizem a verdade: variáveis que existem, comandos que existem, sem segredo padrão."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import load_command_class

from config import ambiente
from painel.management.commands.servir import PAPEIS

RAIZ = Path(__file__).resolve().parents[2]
FORA_DO_LASTRO = {"LASTRO_SENHA_DO_BANCO"}  # só monta a DATABASE_URL do compose.yaml
UNIDADES = sorted((RAIZ / "exemplos/systemd").glob("*.service"))


def variaveis_conhecidas() -> set[str]:
    return set(re.findall(r"`([A-Z_]+)`", ambiente.__doc__ or ""))


@pytest.fixture(scope="module")
def composicao() -> dict[str, Any]:
    return yaml.safe_load((RAIZ / "compose.yaml").read_text("utf-8"))


def test_o_compose_so_passa_variaveis_que_o_servidor_le(composicao: dict[str, Any]) -> None:
    passadas = set(composicao["x-lastro"]["environment"])
    assert passadas <= variaveis_conhecidas()
    assert {"DATABASE_URL", "REDIS_URL", "LASTRO_SEGREDO", "LASTRO_HOSPEDEIROS"} <= passadas


def test_o_env_de_exemplo_e_o_que_o_compose_pede(composicao: dict[str, Any]) -> None:
    exemplo = set(re.findall(r"^([A-Z_]+)=", (RAIZ / ".env.exemplo").read_text("utf-8"), re.M))
    pedidas = set(re.findall(r"\$\{([A-Z_]+):\?", (RAIZ / "compose.yaml").read_text("utf-8")))
    assert pedidas <= exemplo
    assert exemplo <= variaveis_conhecidas() | FORA_DO_LASTRO


def test_os_segredos_do_exemplo_vem_vazios() -> None:
    texto = (RAIZ / ".env.exemplo").read_text("utf-8")
    assert re.search(r"^LASTRO_SEGREDO=$", texto, re.M)
    assert re.search(r"^LASTRO_SENHA_DO_BANCO=$", texto, re.M)


def test_cada_papel_tem_um_servico_no_compose_e_uma_unidade(composicao: dict[str, Any]) -> None:
    comandos = [servico.get("command") for servico in composicao["services"].values()]
    for papel in PAPEIS:
        assert ["servir", papel] in comandos
    assert [unidade.stem for unidade in UNIDADES] == sorted(f"lastro-{papel}" for papel in PAPEIS)


def test_o_valkey_do_compose_nao_despeja_e_o_banco_confirma_no_disco(composicao: dict[str, Any]) -> None:
    valkey = composicao["services"]["valkey"]["command"]
    assert valkey[valkey.index("--maxmemory-policy") + 1] == "noeviction"
    postgres = " ".join(composicao["services"]["postgres"]["command"])
    assert "synchronous_commit=off" not in postgres
    assert "fsync=off" not in postgres


@pytest.mark.parametrize("unidade", UNIDADES, ids=lambda unidade: unidade.stem)
def test_a_unidade_do_systemd_roda_um_comando_que_existe(unidade: Path) -> None:
    texto = unidade.read_text("utf-8")
    programa = re.search(r"^ExecStart=\S+ manage.py (\w+) (\w+)$", texto, re.M)
    assert programa is not None
    load_command_class("painel", programa[1])
    assert programa[2] in PAPEIS
    assert "\nUser=lastro\n" in texto


def test_a_imagem_nao_roda_como_root_e_leva_todo_o_codigo() -> None:
    texto = (RAIZ / "Dockerfile").read_text("utf-8")
    assert re.search(r"^USER lastro$", texto, re.M)
    for pasta in ("config", "ingestao", "dlr", "painel", "templates"):
        assert f"COPY {pasta} " in texto
