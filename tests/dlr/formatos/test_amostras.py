"""Cada formato tem amostras de chamadas, cada amostra dá o recibo certo, e nenhum código da tabela fica de fora."""

import base64
import json
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from dlr.dominio.recibo import Chamada, Recibo
from dlr.formatos.contrato import Contexto, Formato
from dlr.formatos.registro import FORMATOS

AMOSTRAS = Path(__file__).resolve().parents[1] / "amostras"


def carregar(arquivo: Path) -> tuple[Chamada, Contexto, list[dict[str, Any]]]:
    """Uma amostra: a chamada crua, o contexto e o que se espera de cada item."""
    amostra = json.loads(arquivo.read_text("utf-8"))
    corpo = (
        base64.b64decode(amostra["corpo_base64"])
        if "corpo_base64" in amostra
        else amostra.get("corpo", "").encode()
    )
    consulta = amostra.get("consulta", "")
    chamada = Chamada(
        metodo=amostra.get("metodo", "POST"),
        url="https://lastro.exemplo.com.br/dlr/callback/x" + (f"?{consulta}" if consulta else ""),
        consulta=consulta.encode(),
        cabecalhos={nome.lower(): valor for nome, valor in amostra.get("cabecalhos", {}).items()},
        corpo=corpo,
    )
    assert amostra["fonte"], "toda amostra diz de onde veio"
    contexto = Contexto(fuso=ZoneInfo(amostra.get("fuso", "UTC")))
    return chamada, contexto, amostra["esperado"]


def amostras_de(formato: Formato) -> list[Path]:
    return sorted((AMOSTRAS / formato.slug).glob("*.json"))


TODAS = [
    pytest.param(formato, arquivo, id=f"{formato.slug}-{arquivo.stem}")
    for formato in FORMATOS
    for arquivo in amostras_de(formato)
]


def simplificar(valor: Any) -> Any:
    """Dataclass → o que o JSON da amostra diz: instantes em ISO, tuplas em listas."""
    if isinstance(valor, datetime):
        return valor.isoformat()
    if isinstance(valor, tuple):
        return [simplificar(item) for item in valor]
    if isinstance(valor, dict):
        return {chave: simplificar(item) for chave, item in valor.items()}
    return valor


@pytest.mark.parametrize(("formato", "arquivo"), TODAS)
def test_amostra_da_exatamente_os_itens_esperados(formato: Formato, arquivo: Path) -> None:
    """Cada esperado lista só os campos que importam; os ausentes não são conferidos."""
    chamada, contexto, esperado = carregar(arquivo)
    itens = formato.ler(chamada, contexto)
    assert len(itens) == len(esperado)
    for item, campos in zip(itens, esperado, strict=True):
        lido = simplificar(asdict(item))
        assert {campo: lido.get(campo, "campo inexistente") for campo in campos} == campos


@pytest.mark.parametrize("formato", FORMATOS, ids=lambda formato: formato.slug)
def test_formato_tem_amostras_e_cada_codigo_da_tabela_e_exercitado(formato: Formato) -> None:
    arquivos = amostras_de(formato)
    assert arquivos, f"falta tests/dlr/amostras/{formato.slug}/*.json"
    vistos = set()
    for arquivo in arquivos:
        chamada, contexto, _ = carregar(arquivo)
        vistos |= {
            (item.estado_bruto or "").upper()
            for item in formato.ler(chamada, contexto)
            if isinstance(item, Recibo) and item.estado is not None
        }
    assert {codigo.upper() for codigo in formato.estados} - vistos == set(), "códigos sem amostra"


@pytest.mark.parametrize("formato", FORMATOS, ids=lambda formato: formato.slug)
@pytest.mark.parametrize(
    "corpo",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b'"x"',
        b"[1, null, [], {}]",
        b"[" * 5000,
        b"a=1&b=%ff&c",
        b"\x00" * 50,
    ],
    ids=lambda corpo: repr(corpo)[:14],
)
@pytest.mark.parametrize("metodo", ["GET", "POST"])
@pytest.mark.parametrize("tipo", ["", "application/json", "application/x-www-form-urlencoded", "text/plain"])
def test_nenhum_lixo_faz_o_leitor_levantar(formato: Formato, corpo: bytes, metodo: str, tipo: str) -> None:
    consulta = corpo if metodo == "GET" else b""
    chamada = Chamada(
        metodo=metodo,
        url="https://x/y",
        consulta=consulta,
        cabecalhos={"content-type": tipo},
        corpo=b"" if metodo == "GET" else corpo,
    )
    itens = formato.ler(chamada, Contexto())
    assert itens, "uma chamada sempre deixa ao menos um item, que vira recibo ou exceção"
    assert not [item for item in itens if isinstance(item, Recibo) and item.completo]
