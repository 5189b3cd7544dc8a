"""As telas dos recibos abrem, com dados e vazias, custam o mesmo com muitas linhas, e nada hostil executa."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dlr.models import (
    EventoLogico,
    Excecao,
    Integracao,
    Mensagem,
    Recepcao,
    RecepcaoPendente,
    RecusaDeCallback,
)
from painel.admin import tabela_grande
from painel.admin.dlr import contagens
from painel.admin.dlr.evidencia import escrever_hexadecimal
from tests.painel.conftest import HOSTIL, entrar_com
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

PAGINAS: dict[str, Any] = {
    "integracao": Integracao,
    "excecao": Excecao,
    "mensagem": Mensagem,
    "recepcao": Recepcao,
    "eventologico": EventoLogico,
    "recepcaopendente": RecepcaoPendente,
}
LISTAS = (*PAGINAS, "recusadecallback")
GRANDES = ("excecao", "mensagem", "recepcao", "eventologico", "recepcaopendente")
# Sessão e usuário da requisição, a permissão, a contagem, a página, o que se anota nela e os filtros.
CONSULTAS_POR_LISTA = 9
TELEFONE = "11999990000"
# Conta só o que uma subconsulta com LIMIT deixou passar.
LIMITADA = re.compile(r"COUNT\(\*\).* FROM \(\s*SELECT .* LIMIT \d+\s*\)", re.IGNORECASE | re.DOTALL)


def lista(modelo: str) -> str:
    return f"/admin/dlr/{modelo}/"


def pagina(registro: Any) -> str:
    return f"{lista(registro._meta.model_name)}{registro.pk}/change/"


@pytest.fixture
def com_dados(ligada: Ligada) -> Ligada:
    """Uma linha, ao menos, em cada tabela; uma exceção de quase cada tipo."""
    ligada.registrar("pedido-1", "abc1")
    ligada.receber(recibo("abc1", "ENROUTE"))
    ligada.receber(recibo("abc1", destino=f"+55{TELEFONE}", concluido_em="2026-11-30T12:00:00Z"))
    ligada.receber(recibo("abc1", destino=f"+55{TELEFONE}", concluido_em="2026-11-30T12:00:00Z"))
    ligada.receber(recibo("abc1", "EXPIRED"))
    ligada.registrar("gemea-1", "dup")
    ligada.registrar("gemea-2", "dup")
    ligada.receber([recibo("dup"), recibo("ABC1"), recibo("nunca", "ESQUISITO"), 7, {"estado": "DELIVERED"}])
    ligada.receber(b"\xff\xfe\x00torto")
    ligada.receber(recibo("novo1", evento_id="ev"))
    ligada.receber(recibo("novo2", evento_id="ev"))
    passar_a_janela()
    ligada.receber(recibo("na-caixa"), aplicar=False)
    RecepcaoPendente.objects.update(estacionado_em=timezone.now(), tentativas=5, falha="DataError: x")
    RecusaDeCallback.objects.create(dia=timezone.localdate(), motivo="sem_prova", quantidade=3)
    return ligada


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_abre_vazia(painel: Client, modelo: str) -> None:
    assert painel.get(lista(modelo)).status_code == 200


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_abre_com_dados(painel: Client, com_dados: Ligada, modelo: str) -> None:
    resposta = painel.get(lista(modelo))
    assert resposta.status_code == 200
    assert resposta.context["cl"].result_count >= 1


@pytest.mark.parametrize("modelo", PAGINAS)
def test_pagina_de_cada_registro_abre(painel: Client, com_dados: Ligada, modelo: str) -> None:
    for registro in PAGINAS[modelo].objects.all():
        assert painel.get(pagina(registro)).status_code == 200


@pytest.mark.parametrize(
    ("modelo", "consulta", "quantas"),
    [
        ("excecao", "tipo=conflito_final", 1),
        ("excecao", "situacao=descartada", 0),
        ("excecao", "tipo=correlacao_ambigua&integracao=0", 0),
        ("mensagem", "q=pedido-1", 1),
        ("mensagem", "q=abc1", 1),
        ("mensagem", "q=ABC1", 0),
        ("mensagem", "q=dup", 2),
        ("mensagem", "estado=DELIVERED", 1),
        ("mensagem", "estado=sem_recibo", 2),
        ("mensagem", "integracao=x", 0),
        ("eventologico", "q=abc1", 3),
        ("eventologico", "q=nunca", 1),
        ("eventologico", "ligacao=ligados", 3),
        ("eventologico", "mensagem=x", 0),
        ("recepcao", "q=nada", 0),
        ("recepcaopendente", "situacao=estacionado", 1),
        ("recepcaopendente", "situacao=pendente", 0),
        ("recusadecallback", "periodo=hoje", 1),
        ("integracao", "q=operadora", 1),
        ("integracao", "situacao=excluidos", 0),
    ],
)
def test_filtro_e_busca_acham_o_que_existe(
    painel: Client, com_dados: Ligada, modelo: str, consulta: str, quantas: int
) -> None:
    resposta = painel.get(f"{lista(modelo)}?{consulta}")
    assert resposta.status_code == 200
    assert resposta.context["cl"].result_count == quantas


def test_numero_na_busca_acha_a_mensagem_e_a_recepcao(painel: Client, com_dados: Ligada) -> None:
    for modelo, registro in (("mensagem", Mensagem.objects.first()), ("recepcao", Recepcao.objects.first())):
        resposta = painel.get(f"{lista(modelo)}?q={registro.pk}")
        assert registro in resposta.context["cl"].result_list


def test_lista_de_excecoes_comeca_pelas_abertas(painel: Client, com_dados: Ligada) -> None:
    abertas = Excecao.objects.filter(situacao="aberta").count()
    Excecao.objects.filter(tipo="conflito_final").update(situacao="descartada")
    assert painel.get(lista("excecao")).context["cl"].result_count == abertas - 1
    assert painel.get(f"{lista('excecao')}?situacao=descartada").context["cl"].result_count == 1


@pytest.mark.parametrize("parametro", ["detalhe__regex=(a%2B)%2B", "mensagem__destino__contains=9"])
def test_filtro_por_campo_escrito_no_endereco_e_recusado(painel: Client, parametro: str) -> None:
    assert painel.get(f"{lista('excecao')}?{parametro}").status_code == 400


@pytest.mark.parametrize("modelo", GRANDES)
def test_lista_grande_nunca_conta_a_tabela_inteira(painel: Client, com_dados: Ligada, modelo: str) -> None:
    for consulta in ("", f"?integracao={com_dados.id}", "?q=abc1"):
        if consulta[1:2] == "i" and modelo == "recepcaopendente":
            continue
        with CaptureQueriesContext(connection) as consultas:
            painel.get(lista(modelo) + consulta)
        contagens_feitas = [c["sql"] for c in consultas if "COUNT(*)" in c["sql"].upper()]
        assert contagens_feitas or "q=" in consulta
        assert all(LIMITADA.search(sql) for sql in contagens_feitas), contagens_feitas


@pytest.mark.parametrize("modelo", ["recepcao", "eventologico"])
def test_lista_nao_le_as_colunas_grandes(painel: Client, com_dados: Ligada, modelo: str) -> None:
    with CaptureQueriesContext(connection) as consultas:
        painel.get(lista(modelo))
    assert not any('"corpo"' in c["sql"] or '"extras"' in c["sql"] for c in consultas)


def test_mensagens_de_uma_integracao_vem_na_ordem_do_indice_dela(painel: Client, com_dados: Ligada) -> None:
    with CaptureQueriesContext(connection) as consultas:
        painel.get(f"{lista('mensagem')}?integracao={com_dados.id}&periodo=hoje")
    assert any('ORDER BY "dlr_mensagem"."criada_em" DESC' in c["sql"] for c in consultas)


def test_contagem_para_no_teto_e_a_tela_diz_que_ha_mais(
    painel: Client, com_dados: Ligada, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabela_grande, "CONTAGEM_MAXIMA", 2)
    assert "2+ recepções" in " ".join(painel.get(lista("recepcao")).text.split())


def test_contagens_da_integracao_param_no_teto(
    painel: Client, com_dados: Ligada, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contagens, "RECEPCOES_CONTADAS", 2)
    monkeypatch.setattr(contagens, "EXCECOES_CONTADAS", 3)
    (linha,) = painel.get(lista("integracao")).context["cl"].result_list
    assert (linha.recepcoes_contadas, linha.abertas_contadas) == ("2+", (4, "4+"))


@pytest.mark.parametrize("modelo", LISTAS)
def test_lista_custa_o_mesmo_com_muitas_linhas(
    painel: Client, com_dados: Ligada, django_assert_max_num_queries: Callable, modelo: str
) -> None:
    for n in range(12):
        outra = criar(f"outra-{n}")
        outra.registrar(f"m{n}", f"e{n}")
        outra.receber([recibo(f"e{n}"), recibo(f"e{n}", "EXPIRED"), 3])
        RecusaDeCallback.objects.create(integracao_id=outra.id, dia=timezone.localdate(), motivo="sem_prova")
    for n in range(12):
        RecepcaoPendente.objects.create(recepcao_id=n)
    with django_assert_max_num_queries(CONSULTAS_POR_LISTA):
        resposta = painel.get(lista(modelo))
    assert resposta.context["cl"].result_count >= 12


@pytest.mark.parametrize("modelo", ["excecao", "mensagem", "recepcao", "eventologico"])
def test_pagina_custa_o_mesmo_com_muita_historia(
    painel: Client, com_dados: Ligada, django_assert_max_num_queries: Callable, modelo: str
) -> None:
    for n in range(15):
        com_dados.receber([recibo("abc1", "EXPIRED", erro=str(n)), recibo("dup", erro=str(n))])
    filtros = {"excecao": {"tipo": "conflito_final"}, "mensagem": {"id_interno": "pedido-1"}}
    registro = PAGINAS[modelo].objects.filter(**filtros.get(modelo, {})).order_by("pk").last()
    with django_assert_max_num_queries(20):
        assert painel.get(pagina(registro)).status_code == 200


# ---- O que as páginas dizem


def test_mensagem_mostra_tres_coisas_que_nao_se_misturam(painel: Client, com_dados: Ligada) -> None:
    mensagem = Mensagem.objects.get(id_interno="pedido-1")
    mensagem.verificacoes.create(origem="otp", ocorrida_em=timezone.now(), detalhe="código digitado")
    resposta = painel.get(pagina(mensagem))
    texto = resposta.text
    assert [f"<h2>{t}</h2>" in texto for t in ("Aceitação", "Estado do DLR", "Verificação independente")] == [
        True
    ] * 3
    assert (resposta.context["estado"], resposta.context["aceita"]) == ("DELIVERED", "aceita")
    assert "vale o primeiro recebido" in resposta.context["motivo"]
    assert [linha["papel"][0] for linha in resposta.context["eventos"]] == [
        "superado",
        "sustenta",
        "contradiz",
    ]
    assert [linha["repeticoes"] for linha in resposta.context["eventos"]] == [0, 1, 0]
    assert [o.repeticao for o in resposta.context["recepcoes"]] == [False, False, True, False]
    assert "código digitado" in texto
    assert "Finais em conflito" in texto


def test_excecao_sem_correlacao_mostra_o_quase_acerto_e_no_que_difere(
    painel: Client, com_dados: Ligada
) -> None:
    excecao = Excecao.objects.get(tipo="sem_correlacao", evento__id_externo="ABC1")
    resposta = painel.get(pagina(excecao))
    (candidata,) = resposta.context["candidatas"]
    assert candidata["mensagem"].id_interno == "pedido-1"
    assert candidata["difere"] == "maiúsculas e minúsculas"
    assert f"?excecao={excecao.pk}&amp;mensagem={candidata['mensagem'].pk}" in resposta.text


def test_excecao_ambigua_mostra_todas_as_candidatas(painel: Client, com_dados: Ligada) -> None:
    resposta = painel.get(pagina(Excecao.objects.get(tipo="correlacao_ambigua")))
    assert {c["mensagem"].id_interno for c in resposta.context["candidatas"]} == {"gemea-1", "gemea-2"}


def test_corpo_que_nao_e_utf8_aparece_em_hexadecimal(painel: Client, com_dados: Ligada) -> None:
    excecao = Excecao.objects.get(tipo="formato_nao_reconhecido", detalhe__contains="JSON")
    assert "8 bytes que não são UTF-8, mascarados por inteiro" in painel.get(pagina(excecao)).text
    texto = painel.post(f"{lista('excecao')}{excecao.pk}/revelacao/").text
    assert "ff fe 00 74 6f 72 74 6f" in texto
    assert "8 bytes, não é UTF-8" in texto


def test_hexadecimal_traz_posicao_bytes_e_visiveis() -> None:
    assert escrever_hexadecimal(b"\x00ab<") == f"000000  {'00 61 62 3c':<47}  ·ab<"


def test_recepcao_mostra_cada_item_e_o_token_esta_mascarado(painel: Client, com_dados: Ligada) -> None:
    recepcao = Excecao.objects.get(tipo="recibo_parcial").recepcao
    assert recepcao is not None
    resposta = painel.get(pagina(recepcao))
    assert [item["evento"] is not None for item in resposta.context["itens"]] == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert "operadora-a/***" in resposta.text
    assert com_dados.token not in resposta.text


# ---- Conteúdo hostil


@pytest.fixture
def hostil(ligada: Ligada) -> None:
    campos = {"destino": HOSTIL, "origem": "javascript:alert(3)", "erro": HOSTIL, "evento_id": HOSTIL}
    ligada.registrar(HOSTIL, HOSTIL, origem=HOSTIL, destino=HOSTIL, rota=HOSTIL)
    ligada.receber(recibo(HOSTIL, HOSTIL, **campos), **{"user-agent": "<script>alert(1)</script>"})
    ligada.receber(recibo(f"{HOSTIL}\x00", f"{HOSTIL}\x00", **campos))
    ligada.receber(recibo(HOSTIL, "DELIVERED"))
    ligada.receber(recibo(HOSTIL, "EXPIRED"))
    ligada.receber(f"</pre>{HOSTIL}".encode())
    passar_a_janela()
    ligada.receber(recibo(HOSTIL), aplicar=False)
    RecepcaoPendente.objects.update(falha=HOSTIL, estacionado_em=timezone.now())


@pytest.mark.parametrize("modelo", [m for m in PAGINAS if m != "integracao"])
def test_conteudo_hostil_aparece_inerte_na_lista_e_em_cada_pagina(
    painel: Client, hostil: None, modelo: str
) -> None:
    enderecos = [lista(modelo), *(pagina(registro) for registro in PAGINAS[modelo].objects.all())]
    vistos = ""
    for endereco in enderecos:
        texto = painel.get(endereco).text
        vistos += texto
        for ativo in ("<script>alert", "<img src=x", "</pre><script>", "\x1b", "\u202e", "\x00"):
            assert ativo not in texto, (endereco, ativo)
        assert not re.search(r'href="\s*(?:javascript|data):', texto, re.IGNORECASE)
    assert "&lt;script&gt;alert(1)" in vistos


def test_paginas_dos_atos_tambem_sao_inertes(painel: Client, hostil: None) -> None:
    for excecao in Excecao.objects.all():
        for verbo in ("ligar", "reprocessar", "descartar", "escolher-final"):
            texto = painel.get(f"{lista('excecao')}atos/{verbo}/?excecao={excecao.pk}&mensagem=1").text
            assert not any(ativo in texto for ativo in ("<script>alert", "<img src=x", "\x1b", "\u202e"))


def test_experimento_hostil_e_inerte_e_nao_grava_nada(painel: Client, ligada: Ligada) -> None:
    corpo = f'{{"id_externo": "{"<script>alert(1)</script>"}", "estado": "\\u202eX\\u001b"}}'
    campos = {"corpo": corpo, "consulta": HOSTIL, "cabecalhos": HOSTIL}
    texto = painel.post(f"{lista('integracao')}{ligada.id}/experimentar/", campos).text
    assert "&lt;script&gt;alert(1)" in texto
    assert not any(ativo in texto for ativo in ("<script>alert", "\x1b[31mcor\x1b[0m</dd>", "⟦U+202E⟧X\x1b"))
    assert Recepcao.objects.count() == EventoLogico.objects.count() == Excecao.objects.count() == 0


@pytest.mark.parametrize("modelo", LISTAS)
def test_nada_se_apaga_nem_se_cria_fora_do_cadastro(painel: Client, com_dados: Ligada, modelo: str) -> None:
    tabelas: dict[str, Any] = {**PAGINAS, "recusadecallback": RecusaDeCallback}
    registro = tabelas[modelo].objects.first()
    assert painel.post(f"{lista(modelo)}{registro.pk}/delete/", {"post": "yes"}).status_code == 403
    escolhidos = {"action": "delete_selected", "_selected_action": [registro.pk], "post": "yes"}
    painel.post(lista(modelo), escolhidos)
    assert tabelas[modelo].objects.filter(pk=registro.pk).exists()
    if modelo != "integracao":
        assert painel.get(f"{lista(modelo)}add/").status_code == 403


@pytest.mark.parametrize("modelo", LISTAS)
def test_sem_permissao_a_tela_nao_abre_nem_aparece_no_menu(com_dados: Ligada, modelo: str) -> None:
    cliente = entrar_com("view_erro")
    assert cliente.get(lista(modelo)).status_code == 403
    assert lista(modelo) not in cliente.get("/admin/").text
    User.objects.filter(username="bia").delete()
