"""Os comandos de gerência dos recibos."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from config.cofre import decifrar
from dlr.models import Integracao, RegraDeIntegracao
from tests.dlr.conftest import Chamar, Ligada, criar, enviada, estado_de, recibo


def test_criar_integracao_imprime_uma_linha_e_guarda_so_o_resumo_do_token(db: None) -> None:
    saida = StringIO()
    call_command("criar_integracao", "--slug", "op", "--formato", "smpp", stdout=saida)
    (linha,) = saida.getvalue().splitlines()
    impresso = json.loads(linha)
    integracao = Integracao.objects.get()
    assert impresso == {
        "id": integracao.pk,
        "slug": "op",
        "token": impresso["token"],
        "url_callback": f"/dlr/callback/op/{impresso['token']}",
    }
    assert impresso["token"] not in str(Integracao.objects.values().get())
    regra = RegraDeIntegracao.objects.get()
    assert (regra.versao, regra.motivo) == (1, "padrão do formato")
    assert set(regra.finais) == set(integracao.formato_lido.finais)


def test_criar_integracao_com_todas_as_opcoes(db: None) -> None:
    criar(
        "op",
        "twilio",
        "id_base=hex_decimal",
        "id_zeros=ignorar",
        "id_caixa=ignorar",
        "fuso=America/Sao_Paulo",
        "janela_espera_s=60",
        "prazo_final_s=120",
        "recibo_do_aparelho=nao",
        "rede=10.0.0.0/8",
        "rede=::1",
        "usuario=u",
        "senha=a=b",
        "segredo=s",
    )
    i = Integracao.objects.get()
    assert (i.id_base, i.id_zeros, i.id_caixa, i.fuso) == (
        "hex_decimal", "ignorar", "ignorar", "America/Sao_Paulo",
    )  # fmt: skip
    assert (i.janela_espera_s, i.prazo_final_s, i.recibo_do_aparelho) == (60, 120, False)
    assert (i.redes, i.usuario, decifrar(i.senha_cifrada), decifrar(i.segredo_cifrado)) == (
        ["10.0.0.0/8", "::1"], "u", "a=b", "s",
    )  # fmt: skip
    assert i.senha_cifrada != "a=b" and i.segredo_cifrado != "s"


@pytest.mark.parametrize(
    ("slug", "opcao", "frase"),
    [
        ("op2", "id_base=octal", "id_base"),
        ("op2", "fuso=Marte", "Marte"),
        ("op2", "janela_espera_s=abc", "janela_espera_s"),
        ("op2", "janela_espera_s=604801", "janela_espera_s"),
        ("op2", "recibo_do_aparelho=talvez", "sim ou nao"),
        ("op2", "rede=10.0.0.0/40", "rede"),
        ("op2", "xyz=1", "opção desconhecida"),
        ("op2", "fuso", "k=v"),
        ("op", "fuso=UTC", "slug"),
        ("Com Espaço", "fuso=UTC", "slug"),
    ],
)
def test_opcao_ruim_diz_o_que_fazer_e_nada_fica(
    integracao: Ligada, slug: str, opcao: str, frase: str
) -> None:
    with pytest.raises(CommandError, match=frase):
        criar(slug, "padrao", opcao)
    assert Integracao.objects.count() == RegraDeIntegracao.objects.count() == 1


def test_o_fuso_da_integracao_vale_para_as_datas_sem_fuso(db: None, callback: Chamar, processar: Any) -> None:
    from dlr.models import EventoLogico

    paulista = criar("sp", "padrao", "fuso=America/Sao_Paulo")
    callback(recibo("x1", "DELIVERED", concluido_em="2026-01-02T03:04:05"), em=paulista)
    processar()
    lida = EventoLogico.objects.get().concluida_em
    assert lida is not None and lida.isoformat() == "2026-01-02T06:04:05+00:00"


def test_reprojetar_imprime_as_diferencas_e_so_grava_com_aplicar(
    callback: Chamar, registrar: Chamar, processar: Any, integracao: Ligada
) -> None:
    registrar(enviada("m1", "x1"))
    (mensagem,) = [r["id"] for r in registrar(enviada("m1", "x1")).json()["resultados"]]
    callback(recibo("x1", "ACCEPTED"))
    processar()
    RegraDeIntegracao.objects.create(
        integracao_id=integracao.id, versao=2, finais=["ACCEPTED", "DELIVERED"], motivo="contrato"
    )
    esperado = {
        "mensagem": mensagem,
        "antes": ["ACCEPTED", False, "intermediario"],
        "depois": ["ACCEPTED", True, "final"],
    }
    for opcoes, quantas, final in (
        ([], "1 mensagens mudariam", False),
        (["--integracao", "op"], "1 mensagens mudariam", False),
        (["--integracao", "op", "--aplicar"], "1 mensagens mudaram", True),
        (["--aplicar"], "0 mensagens mudaram", True),
    ):
        saida, erro = StringIO(), StringIO()
        call_command("reprojetar", *opcoes, stdout=saida, stderr=erro)
        assert [json.loads(li) for li in saida.getvalue().splitlines()] == [esperado] * int(quantas[0])
        assert quantas in erro.getvalue()
        assert estado_de("m1")[1] is final


def test_reprojetar_de_integracao_inexistente_diz_qual(db: None) -> None:
    with pytest.raises(CommandError, match="ninguem"):
        call_command("reprojetar", "--integracao", "ninguem")
