"""O que é de um não toca o que é de outro: os mesmos ids, tokens trocados, e corpos que dizem ser de outro."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from dlr.models import EventoLogico, Integracao, Mensagem, Recepcao, RecusaDeCallback
from ingestao.models import (
    Aplicativo,
    Captura,
    Dispositivo,
    Erro,
    Evento,
    MedidaDeCaptura,
    RecusaDeCaptura,
    RelatoDeDescarte,
    Sessao,
    Uso,
)
from tests.dlr.conftest import Ligada, aplicar_caixa, criar, enviada, esquecer, estado_de, recibo
from tests.ingestao.capturas.aparelho import Aparelho, evento, resumir

pytestmark = pytest.mark.django_db


# ---- Sites: a chave de um nunca escreve no que é de outro


MESMOS = {
    "evento": {"evento_id": "igual", "tipo": "CLIQUE"},
    "erro com a mesma impressão": {"evento_id": "igual", "tipo": "ERRO_JS", "mensagem": "x is undefined"},
    "identificação na mesma sessão": {"evento_id": "igual", "tipo": "IDENTIFICACAO", "usuario_id": "ana"},
    "medida da mesma sessão": {
        "evento_id": "igual",
        "tipo": "DESEMPENHO",
        "metrica": "CARREGAMENTO",
        "valor": 9,
    },
}


@pytest.mark.parametrize("caso", MESMOS)
def test_o_mesmo_id_em_dois_sites_sao_dois_de_cada_coisa(
    aplicativo: Aplicativo,
    postar: Callable[..., Any],
    processar: Callable[[], Any],
    caso: str,
) -> None:
    outro = Aplicativo.objects.create(nome="Outra", dominios=["exemplo.com.br"])
    for chave in (aplicativo.chave, outro.chave):
        assert postar(MESMOS[caso], chave=chave, sessao={"sessao_externa": "igual"}).status_code == 202
    processar()
    for site in (aplicativo, outro):
        assert Evento.objects.filter(aplicativo=site, evento_id="igual").count() == 1
        sessao = Sessao.objects.get(aplicativo=site)
        assert (sessao.sessao_externa, sessao.quantidade_eventos) == ("igual", 1)
        assert Uso.objects.get(aplicativo=site).quantidade_eventos == 1
    assert Erro.objects.count() == (2 if "erro" in caso else 0)
    assert len(set(Evento.objects.values_list("id", flat=True))) == 2


def test_um_corpo_que_diz_ser_de_outro_site_so_conta_no_da_chave(
    aplicativo: Aplicativo,
    postar: Callable[..., Any],
    processar: Callable[[], Any],
) -> None:
    outro = Aplicativo.objects.create(nome="Outra", dominios=["exemplo.com.br"])
    mentira = {"aplicativo": str(outro.pk), "aplicativo_id": str(outro.pk), "chave": outro.chave}
    postar({"evento_id": "a", "tipo": "CLIQUE", **mentira}, sessao={"sessao_externa": "s", **mentira})
    processar()
    assert Evento.objects.get().aplicativo_id == Sessao.objects.get().aplicativo_id == aplicativo.pk
    assert not Uso.objects.filter(aplicativo=outro).exists()


# ---- Aparelhos: quem manda é o token, não o corpo


def test_o_corpo_que_diz_ser_de_outro_aparelho_grava_no_do_token(
    aparelho: Aparelho,
    cadastrar: Callable[[str], Aparelho],
) -> None:
    outro = cadastrar("Outro")
    mentira = {"dispositivo": str(outro.id), "dispositivo_id": str(outro.id), "token": outro.token}
    aparelho.postar([evento(**mentira)], **mentira)
    aparelho.pulsar(profundidade=3, **mentira)
    assert Captura.objects.get().dispositivo_id == aparelho.id
    assert Dispositivo.objects.get(pk=outro.id).ultimo_contato_em is None
    assert set(MedidaDeCaptura.objects.values_list("dispositivo_id", flat=True)) == {aparelho.id}


def test_os_mesmos_ids_de_captura_relato_e_latencia_em_dois_aparelhos(
    aparelho: Aparelho,
    cadastrar: Callable[[str], Aparelho],
) -> None:
    outro = cadastrar("Outro")
    mandado = evento()
    relato = {"descartados": {"teto_de_tentativas": 2}, "relato": "igual"}
    aparelho.postar([mandado], **relato)
    (do_outro,) = outro.postar([mandado], **relato).json()["resultados"]
    outro.pulsar(latencias=[{"id_evento": mandado["id_evento"], "ms": 5}])
    assert (do_outro["situacao"], do_outro["codigo"]) == ("conflito", "id_de_outro_dispositivo")
    captura = Captura.objects.get()
    assert (captura.dispositivo_id, captura.latencia_ms) == (aparelho.id, None)
    assert set(RelatoDeDescarte.objects.values_list("dispositivo_id", flat=True)) == {aparelho.id, outro.id}


# ---- Recibos: a prova de uma integração não abre a outra


@pytest.fixture
def duas(db: None) -> tuple[Ligada, Ligada]:
    return criar("a"), criar("b")


def chamar(caminho: str, corpo: Any, **cabecalhos: str) -> Any:
    return Client().post(caminho, json.dumps(corpo), content_type="application/json", headers=cabecalhos)


@pytest.mark.parametrize(
    ("jeito", "codigo"),
    [("caminho", "token_invalido"), ("cabecalho", "token_invalido"), ("basic", "basic_invalido")],
)
def test_a_prova_de_uma_integracao_nao_entra_na_outra(
    duas: tuple[Ligada, Ligada], jeito: str, codigo: str
) -> None:
    import base64

    from config.cofre import cifrar

    a, b = duas
    for integracao, senha in ((a, "senha-a"), (b, "senha-b")):
        Integracao.objects.filter(pk=integracao.id).update(usuario="op", senha_cifrada=cifrar(senha))
    esquecer()
    cabecalhos = {
        "cabecalho": {"authorization": f"Bearer {b.token}"},
        "basic": {"authorization": "Basic " + base64.b64encode(b"op:senha-b").decode()},
    }.get(jeito, {})
    caminho = f"/dlr/callback/a/{b.token}" if jeito == "caminho" else "/dlr/callback/a"
    resposta = chamar(caminho, recibo("x", "DELIVERED"), **cabecalhos)
    assert (resposta.status_code, resposta.json()["codigo"]) == (403, codigo)
    assert (Recepcao.objects.count(), RecusaDeCallback.objects.get().integracao_id) == (0, a.id)


def test_os_mesmos_ids_em_duas_integracoes_sao_de_cada_uma(duas: tuple[Ligada, Ligada]) -> None:
    for integracao, estado in zip(duas, ("DELIVERED", "REJECTED"), strict=True):
        registro = enviada(f"m-{integracao.slug}", "x1") | {"integracao": "b", "integracao_id": duas[1].id}
        autorizacao = f"Bearer {integracao.token}"
        assert chamar("/dlr/mensagens", registro, authorization=autorizacao).status_code == 200
        chamar(integracao.url, recibo("x1", estado, id_evento="ev-1", integracao="b"))
    aplicar_caixa()
    assert [estado_de(f"m-{i.slug}")[0] for i in duas] == ["DELIVERED", "REJECTED"]
    assert sorted(EventoLogico.objects.values_list("integracao_id", flat=True)) == sorted(i.id for i in duas)
    assert sorted(Mensagem.objects.values_list("integracao_id", flat=True)) == sorted(i.id for i in duas)


# ---- O token de um fluxo não serve no outro


def test_token_de_aparelho_nao_serve_aos_recibos_nem_o_contrario(
    aparelho: Aparelho, duas: tuple[Ligada, Ligada]
) -> None:
    a, _ = duas
    do_aparelho = {"authorization": f"Bearer {aparelho.token}"}
    assert chamar("/dlr/mensagens", enviada("m1", "x1"), **do_aparelho).status_code == 401
    assert Client().get("/dlr/relatorio", headers=do_aparelho).status_code == 401
    assert chamar("/dlr/callback/a", recibo("x", "DELIVERED"), **do_aparelho).status_code == 403
    da_integracao = Aparelho(aparelho.id, a.token)
    assert da_integracao.postar([evento()]).status_code == 401
    assert da_integracao.perguntar().status_code == 401
    assert not (Mensagem.objects.exists() or Recepcao.objects.exists() or Captura.objects.exists())
    assert RecusaDeCaptura.objects.get().dispositivo_id is None


@pytest.mark.parametrize("resumo_de", ["aparelho", "integracao"])
def test_o_resumo_guardado_de_um_token_nao_e_um_token(
    aparelho: Aparelho,
    duas: tuple[Ligada, Ligada],
    resumo_de: str,
) -> None:
    """Quem leu o banco não entra com o que leu."""
    if resumo_de == "aparelho":
        assert Aparelho(aparelho.id, resumir(aparelho.token.encode())).postar([evento()]).status_code == 401
    else:
        guardado = duas[0].objeto.token_resumo
        assert chamar(f"/dlr/callback/a/{guardado}", recibo("x", "DELIVERED")).status_code == 403
    assert not (Captura.objects.exists() or Recepcao.objects.exists())
