"""Telefones e segredos aparecem mascarados; revelar pede permissão, é POST e fica numa trilha que não muda."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client

from dlr.models import EventoLogico, Excecao, Mensagem, Recepcao, RecepcaoPendente
from ingestao.models import Erro, Evento, Lote, Sessao
from painel.admin.mascara import mascarar, mascarar_evidencia, mascarar_texto
from painel.models import Revelacao
from tests.painel.conftest import entrar_com, erro_js
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

TELEFONE = "11999990000"
SEGREDO = "sk-muito-secreto-0123456789"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2VncmVkbw"


# ---- As regras, sem banco


@pytest.mark.parametrize(
    ("endereco", "mascarado"),
    [
        ("+5511999990000", "+55•••••••0000"),
        ("5511999990000", "551••••••0000"),
        ("29000", "29000"),
        ("LOJA", "LOJA"),
        ("", None),
        (None, None),
    ],
)
def test_telefone_e_mascarado_e_codigo_curto_nao(endereco: str | None, mascarado: str | None) -> None:
    assert mascarar(endereco) == mascarado


@pytest.mark.parametrize(
    ("bytes_", "mascarados"),
    [
        ("to=%2B5511999990000", "to=%2B•••••••••0000"),
        ("to=5511999990000&id=1", "to=551••••••0000&id=1"),
        ('{"msisdn": "447700900123"}', '{"msisdn": "447•••••0123"}'),
        ("<destination>447700900123<", "<destination>447•••••0123<"),
        ("veio de 5511999990000.", "veio de 551••••••0000."),
        ("id=5511999990000", "id=5511999990000"),
        ('"message-id": "5511999990000"', '"message-id": "5511999990000"'),
        ("2026113012000011", "2026113012000011"),
    ],
)
def test_o_que_parece_telefone_some_da_evidencia_e_os_ids_ficam(bytes_: str, mascarados: str) -> None:
    assert mascarar_evidencia(bytes_) == mascarados


def test_telefone_ja_lido_some_em_qualquer_formato() -> None:
    assert mascarar_evidencia("x 447700900123 y", ["+447700900123"]) == "x 447•••••0123 y"


@pytest.mark.parametrize(
    ("texto", "mascarado"),
    [
        (f"https://a.com/x?token={SEGREDO}&b=1#c", "https://a.com/x?token=***&b=1#c"),
        (f"/cb?access_token={SEGREDO}", "/cb?access_token=***"),
        (f"Authorization: Bearer {SEGREDO}", "Authorization: Bearer ***"),
        (f"jwt {JWT} fim", "jwt *** fim"),
        (f'{{"password": "{SEGREDO}", "nome": "ana"}}', '{"password": "***", "nome": "ana"}'),
        ("ligar para +5511999990000", "ligar para +55•••••••0000"),
        ("TypeError: key is not a function at token (a.js:1)", None),
        ("/produtos?tokens=3&monkey=1", None),
    ],
)
def test_segredos_somem_do_texto_livre_e_o_resto_fica(texto: str, mascarado: str | None) -> None:
    assert mascarar_texto(texto) == (texto if mascarado is None else mascarado)


# ---- As telas


@pytest.fixture
def recibos(db: None) -> Ligada:
    ligada = criar()
    ligada.registrar("pedido-1", "abc1", destino=f"+55{TELEFONE}", origem=f"+55{TELEFONE}")
    ligada.receber(recibo("abc1", destino=f"+55{TELEFONE}", origem=f"55{TELEFONE}"))
    ligada.receber(f"torto to=55{TELEFONE}".encode())
    ligada.receber(f"em latin1 \xe7 {TELEFONE}".encode("latin-1"))
    passar_a_janela()
    ligada.receber(recibo("na-caixa", destino=f"55{TELEFONE}"), aplicar=False)
    return ligada


@pytest.fixture
def eventos(mandar: Callable[..., int]) -> None:
    evento = erro_js(
        mensagem=f"falhou +55{TELEFONE} {SEGREDO and 'Bearer ' + SEGREDO}",
        pilha=f"Error: Bearer {SEGREDO}\n  at f (https://loja.com.br/a.js:1:2)",
        url=f"https://loja.com.br/?token={SEGREDO}",
        payload={"senha": SEGREDO, "telefone": f"+55{TELEFONE}"},
    )
    mandar(evento, pagina_inicial=f"https://loja.com.br/?token={SEGREDO}")
    mandar({**evento, "evento_id": "e2"}, aplicar=False)


PAGINAS: tuple[Any, ...] = (Mensagem, Recepcao, EventoLogico, Excecao, RecepcaoPendente)
DOS_SITES: tuple[Any, ...] = (Sessao, Evento, Erro, Lote)


def enderecos(modelo: Any) -> list[str]:
    opts = modelo._meta
    lista = f"/admin/{opts.app_label}/{opts.model_name}/"
    return [lista, *(f"{lista}{registro.pk}/change/" for registro in modelo.objects.all())]


@pytest.mark.parametrize("modelo", PAGINAS)
def test_telefone_nao_aparece_em_lista_nem_pagina_nem_ao_superusuario(
    painel: Client, recibos: Ligada, modelo: Any
) -> None:
    assert len(enderecos(modelo)) > 1
    for endereco in enderecos(modelo):
        assert TELEFONE not in painel.get(endereco).text, endereco


@pytest.mark.parametrize("modelo", DOS_SITES)
def test_segredo_e_telefone_dos_sites_nao_aparecem(painel: Client, eventos: None, modelo: Any) -> None:
    assert len(enderecos(modelo)) > 1
    for endereco in enderecos(modelo):
        texto = painel.get(endereco).text
        assert SEGREDO not in texto, endereco
        assert TELEFONE not in texto, endereco


def test_quem_ao_lado_e_nota_da_triagem_tambem_sao_mascarados(
    painel: Client, mandar: Callable[..., int]
) -> None:
    for n in (1, 2):
        pessoa = {"sessao_externa": f"s{n} +55{TELEFONE}", "usuario_id": f"+55{TELEFONE}"}
        mandar(erro_js(f"e{n}"), **pessoa)
    erro, sessao = Erro.objects.get(), Sessao.objects.order_by("pk")[0]
    base = f"/admin/ingestao/erro/{erro.pk}/"
    painel.post(f"{base}triagem/", {"verbo": "ANOTAR", "nota": f"liguei para +55{TELEFONE}"})
    do_erro = painel.get(f"{base}change/").text
    da_sessao = painel.get(f"/admin/ingestao/sessao/{sessao.pk}/change/").text
    assert "liguei para +55•••••••0000" in do_erro
    assert "s2 +55•••••••0000" in da_sessao
    assert TELEFONE not in do_erro + da_sessao + painel.get("/admin/admin/logentry/").text
    assert f"liguei para +55{TELEFONE}" in revelar(painel, erro).text


def test_filtros_da_sessao_revelada_levam_a_pagina_mascarada(painel: Client, eventos: None) -> None:
    sessao = Sessao.objects.get()
    pagina = f"/admin/ingestao/sessao/{sessao.pk}/change/"
    assert f'href="{pagina}?tipo=ERRO_JS#linha-do-tempo"' in revelar(painel, sessao).text
    assert painel.get(f"{pagina}?tipo=ERRO_JS").status_code == 200


def revelar(cliente: Client, registro: Any, **campos: str) -> Any:
    opts = registro._meta
    return cliente.post(f"/admin/{opts.app_label}/{opts.model_name}/{registro.pk}/revelacao/", campos)


def test_revelar_mostra_uma_vez_e_deixa_na_trilha_quem_o_que_e_por_que(
    painel: Client, recibos: Ligada
) -> None:
    mensagem = Mensagem.objects.get()
    resposta = revelar(painel, mensagem, motivo=" cliente ao telefone \0")
    assert resposta.status_code == 200
    assert f"+55{TELEFONE}" in resposta.text
    assert "Ficou na trilha" in resposta.text
    assert "no-store" in resposta.headers["Cache-Control"]
    trilha = Revelacao.objects.get()
    assert (trilha.autor, trilha.o_que, trilha.modelo, trilha.registro_id, trilha.motivo) == (
        User.objects.get(),
        "os telefones",
        "dlr.mensagem",
        str(mensagem.pk),
        "cliente ao telefone",
    )
    assert LogEntry.objects.get().change_message == "Revelou os telefones."
    assert TELEFONE not in painel.get(f"/admin/dlr/mensagem/{mensagem.pk}/change/").text


@pytest.mark.parametrize("modelo", [*PAGINAS, *DOS_SITES])
def test_toda_pagina_que_mascara_se_revela(
    painel: Client, recibos: Ligada, eventos: None, modelo: Any
) -> None:
    mostrados = [revelar(painel, registro).text for registro in modelo.objects.all()]
    procurado = TELEFONE if modelo in PAGINAS else SEGREDO
    assert any(procurado in texto for texto in mostrados)
    assert Revelacao.objects.count() == LogEntry.objects.count() == len(mostrados)


def test_revelar_bytes_que_nao_sao_texto_mostra_o_hexadecimal(painel: Client, recibos: Ligada) -> None:
    recepcao = next(r for r in Recepcao.objects.all() if b"latin1" in bytes(r.corpo))
    assert "mascarados por inteiro" in painel.get(f"/admin/dlr/recepcao/{recepcao.pk}/change/").text
    assert "65 6d 20 6c 61 74 69 6e 31" in revelar(painel, recepcao).text


def test_revelar_sem_permissao_e_recusado_e_nada_fica_na_trilha(recibos: Ligada) -> None:
    cliente = entrar_com("view_mensagem", "change_mensagem", "view_revelacao")
    mensagem = Mensagem.objects.get()
    assert "Revelar" not in cliente.get(f"/admin/dlr/mensagem/{mensagem.pk}/change/").text
    assert revelar(cliente, mensagem).status_code == 403
    assert not Revelacao.objects.exists()


def test_quem_revela_precisa_tambem_poder_ver_o_registro(recibos: Ligada) -> None:
    assert revelar(entrar_com("revelar"), Mensagem.objects.get()).status_code == 403
    assert not Revelacao.objects.exists()


def test_revelar_por_get_nao_existe_e_sem_csrf_e_recusado(painel: Client, recibos: Ligada) -> None:
    endereco = f"/admin/dlr/mensagem/{Mensagem.objects.get().pk}/revelacao/"
    assert painel.get(endereco).status_code == 405
    exigente = Client(enforce_csrf_checks=True)
    exigente.force_login(User.objects.get())
    assert exigente.post(endereco).status_code == 403
    assert not Revelacao.objects.exists()


def test_registro_que_sumiu_volta_a_lista_sem_trilha(painel: Client, db: None) -> None:
    assert painel.post("/admin/dlr/mensagem/999/revelacao/").status_code == 302
    assert not Revelacao.objects.exists()


@pytest.mark.parametrize("tabela", ["painel_revelacao", "django_admin_log"])
@pytest.mark.parametrize("sql", ["DELETE FROM {}", "UPDATE {} SET id = id + 1000", "UPDATE {} SET {} = 'x'"])
def test_a_trilha_nao_se_apaga_nem_se_muda_nem_por_sql(
    painel: Client, recibos: Ligada, tabela: str, sql: str
) -> None:
    revelar(painel, Mensagem.objects.get())
    coluna = "motivo" if tabela == "painel_revelacao" else "change_message"
    if "id + 1000" in sql and tabela == "django_admin_log":
        sql = "UPDATE {} SET user_id = user_id"
    with pytest.raises(IntegrityError, match="so aceita INSERT"), transaction.atomic():
        connection.cursor().execute(sql.format(tabela, coluna))
    assert Revelacao.objects.count() == LogEntry.objects.count() == 1
