"""Quem pode mandar: a chave do aplicativo e a origem da página."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from ingestao.eventos import chaves
from ingestao.models import Aplicativo, Evento, Uso
from tests.ingestao.conftest import Postar, Processar, evento, recusas


@pytest.mark.parametrize("chave", ["pk_live_ninguem", "", "qualquer", "pk_" + "x" * 5000, "pk_\u0000"])
def test_chave_desconhecida_e_401(postar: Postar, processar: Processar, chave: str) -> None:
    resposta = postar(evento(), evento(), chave=chave)
    assert (resposta.status_code, resposta.json()["codigo"]) == (401, "chave_desconhecida")
    processar()
    assert recusas() == {"chave_desconhecida": (1, 2)}
    assert not Uso.objects.exists()


def test_chave_impossivel_nao_consulta_nem_ocupa_memoria(postar: Postar) -> None:
    chaves.memoria.esquecer()
    for chave in ("pk_" + "x" * 200, "sk_live_x"):
        assert postar(evento(), chave=chave).status_code == 401
    assert not chaves.memoria._guardados


def test_aplicativo_excluido_nao_recebe(postar: Postar, aplicativo: Aplicativo) -> None:
    Aplicativo.objects.update(deletado=True)
    assert postar(evento()).status_code == 401


def test_mudanca_no_aplicativo_vale_em_segundos(
    postar: Postar, aplicativo: Aplicativo, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert postar(evento()).status_code == 202
    Aplicativo.objects.update(deletado=True)
    agora = chaves.time.monotonic()
    monkeypatch.setattr(chaves.time, "monotonic", lambda: agora + chaves.VALIDADE_S + 0.1)
    assert postar(evento()).status_code == 401


def test_chave_trocada_ainda_vale_na_carencia_e_depois_nao(postar: Postar, aplicativo: Aplicativo) -> None:
    antiga = aplicativo.chave
    aplicativo.trocar_chave()
    aplicativo.save()
    assert postar(evento(), chave=antiga).status_code == 202
    assert postar(evento(), chave=aplicativo.chave).status_code == 202
    chaves.memoria.esquecer()
    Aplicativo.objects.update(chave_anterior_ate=timezone.now() - timedelta(seconds=1))
    assert postar(evento(), chave=antiga).status_code == 401
    assert postar(evento(), chave=aplicativo.chave).status_code == 202


@pytest.mark.parametrize(
    ("origem", "referer", "status"),
    [
        ("https://exemplo.com.br", None, 202),
        ("https://exemplo.com.br:8443", None, 202),
        ("https://EXEMPLO.com.br.", None, 202),
        ("https://a.b.exemplo.com.br", None, 202),
        (None, "https://exemplo.com.br/pagina", 202),
        ("https://malexemplo.com.br", None, 403),
        ("null", None, 403),
        ("null", "https://exemplo.com.br/", 403),
        (None, None, 403),
        ("https://mal.com", "https://exemplo.com.br/", 403),
    ],
)
def test_origem_e_conferida_contra_os_dominios(
    postar: Postar, processar: Processar, origem: str | None, referer: str | None, status: int
) -> None:
    resposta = postar(evento(), origem=origem, cabecalhos={"referer": referer} if referer else None)
    assert resposta.status_code == status
    processar()
    if status == 403:
        assert resposta.json()["codigo"] == "origem_nao_autorizada"
        assert recusas() == {"origem_nao_autorizada": (1, 1)}
        assert not Evento.objects.exists()


def test_origem_do_painel_sempre_passa(postar: Postar, settings: Any) -> None:
    settings.URL_FRONTEND = "https://painel.lastro.dev/app"
    assert postar(evento(), origem="https://painel.lastro.dev").status_code == 202
    assert postar(evento(), origem="https://outro.lastro.dev").status_code == 403
