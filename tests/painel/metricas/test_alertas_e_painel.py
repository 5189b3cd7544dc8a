"""As regras do Prometheus e o painel do Grafana que vêm prontos só falam do que a página mostra."""

import json
import re
from typing import Any

import yaml
from django.conf import settings as ajustes
from django.test import Client

from config import contagem

DOCS = ajustes.BASE_DIR / "docs"


def nomes_na_pagina(client: Client) -> set[str]:
    """Toda família da página, mesmo sem amostra, com o sufixo que o contador ganha."""
    texto = client.get("/metricas").text
    nomes = set(re.findall(r"^# TYPE (\S+)", texto, re.M))
    return nomes | {nome.removesuffix("_total") for nome in nomes}


def nomes_citados(expressoes: list[str]) -> set[str]:
    return {nome for expressao in expressoes for nome in re.findall(r"\blastro_[a-z0-9_]+", expressao)}


def ler_regras() -> list[dict[str, Any]]:
    arquivo = yaml.safe_load((DOCS / "prometheus/alertas.yml").read_text())
    return [regra for grupo in arquivo["groups"] for regra in grupo["rules"]]


def ler_paineis() -> list[dict[str, Any]]:
    return json.loads((DOCS / "grafana/lastro.json").read_text())["panels"]


def test_toda_metrica_das_regras_e_do_painel_existe(client: Client, db: None) -> None:
    contagem.contar("evento", 202, b"")
    existentes = nomes_na_pagina(client)
    citadas = nomes_citados([regra["expr"] for regra in ler_regras()])
    citadas |= nomes_citados([alvo["expr"] for painel in ler_paineis() for alvo in painel["targets"]])
    assert citadas - existentes - {"lastro_respostas_total"} == set()
    assert "lastro_respostas_total" in citadas
    documentadas = nomes_citados([(DOCS / "metricas.md").read_text()])
    assert existentes - documentadas - {"lastro_respostas"} == set()


def test_regras_tem_nome_expressao_severidade_e_resumo() -> None:
    regras = ler_regras()
    assert len({regra["alert"] for regra in regras}) == len(regras) > 10
    for regra in regras:
        assert regra["expr"].strip() and regra["annotations"]["resumo"].strip()
        assert regra["labels"]["severidade"] in {"critica", "atencao"}
        assert regra["expr"].count("(") == regra["expr"].count(")")


def test_paineis_tem_id_proprio_consulta_e_nao_se_sobrepoem() -> None:
    paineis = ler_paineis()
    assert len({painel["id"] for painel in paineis}) == len(paineis)
    ocupadas: set[tuple[int, int]] = set()
    for painel in paineis:
        assert painel["title"] and all(alvo["expr"].strip() for alvo in painel["targets"])
        lugar = painel["gridPos"]
        celulas = {
            (x, y)
            for x in range(lugar["x"], lugar["x"] + lugar["w"])
            for y in range(lugar["y"], lugar["y"] + lugar["h"])
        }
        assert lugar["x"] + lugar["w"] <= 24 and not celulas & ocupadas
        ocupadas |= celulas
