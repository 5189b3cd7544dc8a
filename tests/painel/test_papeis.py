"""Cada papel abre o que é dele e é recusado no resto: todas as rotas do painel, uma a uma.

Uma rota nova sem linha aqui faz o teste falhar: alguém decide quem a abre antes de ela existir em produção.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from axes.models import AccessAttempt, AccessLog
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.core.management import call_command
from django.test import Client
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse
from django.utils import timezone

from dlr.models import (
    Excecao,
    Integracao,
    RecepcaoPendente,
    RecepcaoPorDia,
    RecepcaoPorMinuto,
    RecusaDeCallback,
)
from ingestao.models import (
    Aplicativo,
    AvisoFranquia,
    Dispositivo,
    Lote,
    MedidaDeCaptura,
    RecusaDeCaptura,
    Sessao,
    UsoPorMinuto,
)
from painel.admin.navegacao import ENTRADAS
from painel.avisos.rodada import rodar
from painel.models import (
    Autenticador,
    Canal,
    DestinoDeAviso,
    LimiarDeAviso,
    Revelacao,
)
from painel.permissoes import ADMINISTRACAO, OPERACAO, PAPEIS, SUPORTE, aplicar_papeis
from tests.ingestao.capturas.conftest import deposito  # noqa: F401 (os quadros vão para a pasta do teste)
from tests.painel.aparelhos import Campo
from tests.painel.conftest import erro_js
from tests.painel.recibos import criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

SIGLAS = {SUPORTE: "S", OPERACAO: "O", ADMINISTRACAO: "A"}
# Quem vê a lista e a página de cada modelo: S(uporte), O(peração), A(dministração).
VE = {
    "ingestao_aplicativo": "A",
    "ingestao_sessao": "SA",
    "ingestao_evento": "SA",
    "ingestao_erro": "SA",
    "ingestao_uso": "A",
    "ingestao_recusa": "A",
    "ingestao_avisofranquia": "A",
    "ingestao_lote": "OA",
    "ingestao_captura": "SA",
    "ingestao_pedido": "SA",
    "ingestao_dispositivo": "A",
    "ingestao_medidadecaptura": "SA",
    "ingestao_capturarecusada": "SA",
    "ingestao_relatodedescarte": "SA",
    "ingestao_recusadecaptura": "SA",
    "ingestao_usoporminuto": "A",
    "dlr_recepcaoporminuto": "OA",
    "dlr_recepcaopordia": "OA",
    "dlr_integracao": "OA",
    "dlr_excecao": "OA",
    "dlr_mensagem": "OA",
    "dlr_recepcao": "OA",
    "dlr_eventologico": "OA",
    "dlr_recusadecallback": "OA",
    "dlr_recepcaopendente": "OA",
    "painel_aviso": "OA",
    "painel_entregadeaviso": "OA",
    "painel_destinodeaviso": "A",
    "painel_limiardeaviso": "A",
    "auth_user": "A",
    "auth_group": "A",
    "admin_logentry": "A",
    "painel_revelacao": "A",
    "axes_accessattempt": "A",
    "axes_accesslog": "A",
}
SO_LISTA = {  # tudo o que a linha tem está na lista: ninguém abre página
    "ingestao_uso",
    "ingestao_recusa",
    "ingestao_avisofranquia",
    "ingestao_pedido",
    "ingestao_medidadecaptura",
    "ingestao_capturarecusada",
    "ingestao_relatodedescarte",
    "ingestao_recusadecaptura",
    "ingestao_usoporminuto",
    "dlr_recepcaoporminuto",
    "dlr_recepcaopordia",
    "dlr_recusadecallback",
    "admin_logentry",
    "painel_revelacao",
    "axes_accessattempt",
    "axes_accesslog",
}
# As contagens por trás dos gráficos: chega-se a elas pelos números da página inicial, não pelo menu.
CONTAGENS = {
    "ingestao_usoporminuto",
    "dlr_recepcaoporminuto",
    "dlr_recepcaopordia",
}
CRIA = {
    "ingestao_aplicativo": "A",
    "ingestao_dispositivo": "A",
    "dlr_integracao": "A",
    "painel_destinodeaviso": "A",
    "painel_limiardeaviso": "A",
    "auth_user": "A",
    "auth_group": "A",
}
APAGA = {"auth_group": "A", "painel_limiardeaviso": "A"}
OUTRAS = {
    "ingestao_aplicativo_trocar_a_chave": "A",
    "ingestao_aplicativo_excluir": "A",
    "ingestao_aplicativo_restaurar": "A",
    "ingestao_dispositivo_trocar_o_token": "A",
    "ingestao_dispositivo_desligar": "A",
    "ingestao_dispositivo_religar": "A",
    "ingestao_dispositivo_excluir": "A",
    "ingestao_dispositivo_restaurar": "A",
    "ingestao_captura_recorte": "SA",
    "ingestao_captura_contestar": "SA",
    "ingestao_captura_excluir": "A",
    "ingestao_captura_restaurar": "A",
    "ingestao_captura_revelacao": "A",
    "ingestao_pedido_cancelar": "SA",
    "ingestao_pedido_quadro": "SA",
    "ingestao_pedido_imagem": "SA",
    "ingestao_medidadecaptura_panorama": "SA",
    "ingestao_erro_triagem": "SA",
    "ingestao_lote_reexecucao": "OA",
    "dlr_recepcaopendente_reexecucao": "OA",
    "dlr_excecao_ato": "OA",
    "dlr_integracao_experimentar": "OA",
    "dlr_integracao_mudar_os_finais": "A",
    "dlr_integracao_reprojecao": "OA",
    "dlr_integracao_trocar_o_token": "A",
    "dlr_integracao_excluir": "A",
    "dlr_integracao_restaurar": "A",
    "painel_aviso_ato": "OA",
    "painel_entregadeaviso_reenvio": "A",
    "painel_destinodeaviso_enviar_teste": "A",
    "painel_destinodeaviso_trocar_o_segredo": "A",
    "auth_user_password_change": "A",
    "auth_user_remover_segundo_fator": "A",
    # Revelar é só da Administração; a quem mais precisar, dá-se a permissão.
    "ingestao_sessao_revelacao": "A",
    "ingestao_evento_revelacao": "A",
    "ingestao_erro_revelacao": "A",
    "ingestao_lote_revelacao": "A",
    "dlr_excecao_revelacao": "A",
    "dlr_mensagem_revelacao": "A",
    "dlr_recepcao_revelacao": "A",
    "dlr_eventologico_revelacao": "A",
    "dlr_recepcaopendente_revelacao": "A",
}
# De qualquer um que entrou: são da própria pessoa, ou não mostram nada além do que ela já pode.
DE_TODOS = {
    "index",
    "search",
    "password_change",
    "password_change_done",
    "segundo_fator",
    "jsi18n",
}
# Conferidas à parte: dependem de argumentos, ou não são telas.
A_PARTE = {
    "login",
    "logout",
    "codigo",
    "segundo_fator_codigos",
    "segundo_fator_desativar",
    "autocomplete",
    "view_on_site",
    "app_list",
}
SO_POST = ("_revelacao", "_triagem", "_reexecucao", "_aviso_ato", "_reenvio")
PADRAO = ("changelist", "add", "change", "history", "delete")


def listar_rotas(padroes: list[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for padrao in padroes:
        if isinstance(padrao, URLResolver):
            yield from listar_rotas(padrao.url_patterns)
        else:
            yield padrao


def quem_abre(nome: str) -> str | None:
    """As siglas de quem abre a rota; None se ninguém decidiu ainda."""
    if nome in OUTRAS:
        return OUTRAS[nome]
    modelo, _, acao = nome.rpartition("_")
    if modelo not in VE or acao not in PADRAO:
        return None
    if acao == "add":
        return CRIA.get(modelo, "")
    if acao == "delete":
        return APAGA.get(modelo, "")
    return "" if acao in ("change", "history") and modelo in SO_LISTA | CONTAGENS else VE[modelo]


NOMES = sorted({rota.name for rota in listar_rotas(admin.site.get_urls()) if rota.name})
CONFERIDAS = [nome for nome in NOMES if nome not in DE_TODOS | A_PARTE]


def test_toda_rota_do_painel_tem_quem_a_abre_decidido() -> None:
    sem_dono = [nome for nome in CONFERIDAS if quem_abre(nome) is None]
    assert not sem_dono, f"diga em tests/painel/test_papeis.py quem abre: {sem_dono}"
    inventadas = sorted((set(OUTRAS) | DE_TODOS | A_PARTE) - set(NOMES))
    assert not inventadas, f"não existem mais: {inventadas}"


@pytest.fixture
def um_de_cada(mandar: Callable[..., int], aplicativo: Aplicativo) -> None:
    """Ao menos um registro atrás de cada rota."""
    mandar(erro_js(), {"evento_id": "x", "tipo": "X"}, usuario_id="u1")
    mandar({"evento_id": "p", "tipo": "PAGINA"}, aplicar=False)
    Lote.objects.update(estacionado_em=timezone.now(), tentativas=5, falha="DataError: x")
    ligada = criar()
    ligada.registrar("pedido-1", "abc1")
    ligada.receber(recibo("abc1"))
    ligada.receber(recibo("nunca"))
    passar_a_janela()
    ligada.receber(recibo("na-caixa"), aplicar=False)
    RecepcaoPendente.objects.update(estacionado_em=timezone.now(), tentativas=5)
    RecusaDeCallback.objects.create(dia=timezone.localdate(), motivo="sem_prova", quantidade=3)
    AvisoFranquia.objects.create(
        aplicativo=aplicativo,
        periodo=timezone.localdate().replace(day=1),
        percentual=80,
        quantidade=8,
        franquia=10,
        criado_em=timezone.now(),
    )
    outra = User.objects.create_user("carla", is_staff=True)
    Campo.montar(outra)
    Autenticador.objects.create(user=outra, name="aplicativo")
    LogEntry.objects.log_actions(outra.pk, [outra], CHANGE, "x")
    Revelacao.objects.create(autor=outra, o_que="x", modelo="dlr.mensagem", registro_id="1")
    Group.objects.create(name="Extra")
    AccessAttempt.objects.create(username="x", ip_address="10.0.0.1", failures_since_start=5)
    AccessLog.objects.create(username="x", ip_address="10.0.0.1")
    contar_e_avisar(aplicativo)


def contar_e_avisar(aplicativo: Aplicativo) -> None:
    """As contagens por trás dos gráficos, e um aviso com a entrega dele."""
    agora, integracao = timezone.now(), Integracao.objects.get()
    hora = agora.replace(minute=0, second=0, microsecond=0)
    camera = Dispositivo.objects.create(nome="Câmera", token_resumo="x" * 64)
    UsoPorMinuto.objects.get_or_create(aplicativo=aplicativo, minuto=hora, motivo="x")
    MedidaDeCaptura.objects.create(dispositivo=camera, hora=hora, medida="gravadas", quantidade=1)
    RecusaDeCaptura.objects.create(dispositivo=camera, dia=timezone.localdate(), motivo="x", quantidade=1)
    RecepcaoPorMinuto.objects.get_or_create(integracao=integracao, minuto=hora, motivo="x")
    RecepcaoPorDia.objects.get_or_create(integracao=integracao, dia=timezone.localdate())
    LimiarDeAviso.objects.create(tipo="fila", valor=60)
    sala = DestinoDeAviso(nome="Sala", canal=Canal.WEBHOOK, url="https://gancho.exemplo.com.br/x")
    sala.trocar_segredo()
    sala.save()
    rodar(agora)


def entrar_como(*papeis: str) -> Client:
    usuario = User.objects.create_user("bia", is_staff=True)
    usuario.groups.set(Group.objects.filter(name__in=papeis))
    cliente = Client(headers={"accept": "text/html"})
    cliente.force_login(usuario)
    return cliente


def chave_de(nome: str) -> Any:
    """A chave de um registro que a rota aceita."""
    modelo = "_".join(nome.split("_")[:2])
    if modelo == "auth_user":
        return User.objects.get(username="carla").pk
    if modelo == "auth_group":
        return Group.objects.get(name="Extra").pk
    registro = apps.get_model(*modelo.split("_"))._default_manager.first()
    assert registro is not None, modelo
    return registro.pk


def pedir(cliente: Client, nome: str) -> Any:
    if nome == "dlr_excecao_ato":
        excecao = Excecao.objects.filter(situacao="aberta").first()
        assert excecao is not None
        return cliente.get(reverse("admin:dlr_excecao_ato", args=["anotar"]), {"excecao": excecao.pk})
    argumentos = [] if sem_chave(nome) else [chave_de(nome)]
    endereco = reverse(f"admin:{nome}", args=argumentos)
    return cliente.post(endereco) if nome.endswith(SO_POST) else cliente.get(endereco)


@pytest.mark.parametrize("papel", [*PAPEIS, ""])
def test_papel_abre_o_que_e_dele_e_e_recusado_no_resto(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    # As que mudam alguma coisa por último: o que some não faz falta às outras.
    for nome in sorted(CONFERIDAS, key=lambda nome: nome.endswith(SO_POST)):
        abre = SIGLAS.get(papel, "-") in (quem_abre(nome) or "")
        resposta = pedir(cliente, nome)
        esperado = {200, 302, 400} if nome.endswith(SO_POST) else {200}
        assert resposta.status_code in (esperado if abre else {403}), (papel, nome, resposta.status_code)
        if resposta.status_code == 302:
            assert "/login/" not in resposta.headers["Location"]


@pytest.mark.parametrize("papel", [*PAPEIS, ""])
def test_o_que_e_da_propria_pessoa_abre_a_todos(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    for nome in DE_TODOS:
        assert cliente.get(reverse(f"admin:{nome}")).status_code == 200, nome


def test_quem_nao_entrou_vai_ao_login_em_toda_rota(um_de_cada: None) -> None:
    anonimo = Client(headers={"accept": "text/html"})
    for nome in CONFERIDAS:
        resposta = pedir(anonimo, nome)
        assert resposta.status_code in (302, 405), nome
        if resposta.status_code == 302:
            assert resposta.headers["Location"].startswith("/admin/login/"), nome


def test_nenhum_envio_sem_o_token_do_formulario_e_aceito(um_de_cada: None) -> None:
    """De outro site, o navegador manda o cookie da sessão; o token do formulário, não."""
    exigente = Client(enforce_csrf_checks=True)
    exigente.force_login(User.objects.create_superuser("chefe"))
    for nome in CONFERIDAS:
        chaves = [] if sem_chave(nome) else ["anotar" if nome == "dlr_excecao_ato" else chave_de(nome)]
        endereco = reverse(f"admin:{nome}", args=chaves)
        for metodo in (exigente.post, exigente.put, exigente.patch, exigente.delete):
            assert metodo(endereco).status_code in (403, 405), (nome, metodo.__name__)


def sem_chave(nome: str) -> bool:
    return nome.endswith(("_changelist", "_add", "_panorama"))


@pytest.mark.parametrize("papel", list(PAPEIS))
def test_nenhum_link_de_uma_tela_que_o_papel_abre_e_recusado(um_de_cada: None, papel: str) -> None:
    cliente = entrar_como(papel)
    vistos: set[str] = set()
    for nome in CONFERIDAS:
        if nome.endswith(SO_POST) or SIGLAS[papel] not in (quem_abre(nome) or ""):
            continue
        resposta = pedir(cliente, nome)
        if resposta.headers["Content-Type"] == "image/jpeg":
            continue
        for endereco in links_de(resposta.text) - vistos:
            vistos.add(endereco)
            assert cliente.get(endereco).status_code not in (403, 404), (nome, endereco)
    assert len(vistos) > 5


@pytest.mark.parametrize("chave", [" ", "x", "9" * 30, "-1", "%00", "00000000-0000-4000-8000-000000000000"])
def test_chave_que_nao_existe_ou_nem_chave_e_nunca_quebra_a_tela(um_de_cada: None, chave: str) -> None:
    cliente = entrar_como(*PAPEIS)
    for nome in CONFERIDAS:
        try:
            endereco = reverse(f"admin:{nome}", args=["CHAVE"]).replace("CHAVE", chave)
        except NoReverseMatch:
            continue  # não leva chave, ou só aceita a de forma certa, e a rota nem existe para as outras
        resposta = cliente.post(endereco) if nome.endswith(SO_POST) else cliente.get(endereco)
        assert resposta.status_code in (302, 400, 403, 404), (endereco, resposta.status_code)


def links_de(html: str) -> set[str]:
    import re
    from html import unescape

    achados = {unescape(endereco) for endereco in re.findall(r'href="(/admin/[^"#]*)"', html)}
    return {endereco for endereco in achados if "logout" not in endereco}


@pytest.mark.parametrize("papel", list(PAPEIS))
def test_menu_tem_tudo_o_que_o_papel_abre_e_mais_nada(db: None, papel: str) -> None:
    menu = links_de(entrar_como(papel).get("/admin/segundo-fator/").text)
    for modelo, siglas in VE.items():
        esperado = SIGLAS[papel] in siglas and modelo not in CONTAGENS
        entrada = ENTRADAS.get(modelo.partition("_")[2], "changelist")
        assert (reverse(f"admin:{modelo}_{entrada}") in menu) == esperado, modelo


def test_quem_nao_tem_papel_ve_o_que_fazer(db: None) -> None:
    resposta = entrar_como().get("/admin/")
    assert resposta.status_code == 200
    assert "Sua conta ainda não tem um papel" in resposta.text


def test_papeis_somam_quando_a_pessoa_tem_dois(um_de_cada: None) -> None:
    cliente = entrar_como(SUPORTE, OPERACAO)
    for modelo in ("ingestao_erro", "dlr_excecao"):
        assert cliente.get(reverse(f"admin:{modelo}_changelist")).status_code == 200


# ---- Ações em massa e o que se grava


def test_acao_em_massa_que_o_papel_nao_tem_nao_aparece_nem_funciona(um_de_cada: None) -> None:
    cliente = entrar_como()
    User.objects.get(username="bia").user_permissions.set(
        Permission.objects.filter(
            codename__in=["view_erro", "view_excecao", "view_lote", "view_accessattempt"]
        )
    )
    for endereco, acao in (
        ("/admin/ingestao/erro/", "resolver"),
        ("/admin/dlr/excecao/", "descartar"),
        ("/admin/ingestao/lote/", "reexecutar"),
        ("/admin/axes/accessattempt/", "destravar"),
    ):
        assert f'value="{acao}"' not in cliente.get(endereco).text
        nome = "_".join(endereco.split("/")[2:4]) + "_changelist"
        cliente.post(endereco, {"action": acao, "_selected_action": [chave_de(nome)]})
    assert Lote.objects.filter(estacionado_em__isnull=False).count() == 1
    assert AccessAttempt.objects.count() == 1
    assert set(Excecao.objects.values_list("situacao", flat=True)) == {"aberta"}


def test_operacao_nao_muda_a_integracao(um_de_cada: None) -> None:
    integracao = Integracao.objects.get()
    antes = integracao.token_resumo
    cliente = entrar_como(OPERACAO)
    base = f"/admin/dlr/integracao/{integracao.pk}/"
    assert cliente.post(f"{base}change/", {"slug": "outra", "nome": "x"}).status_code == 403
    assert cliente.post(f"{base}trocar-token/").status_code == 403
    assert cliente.post(f"{base}excluir/").status_code == 403
    depois = Integracao.objects.get()
    assert (depois.token_resumo, depois.deletado, depois.nome) == (antes, False, integracao.nome)


def test_administracao_nao_vira_superusuario_nem_mexe_em_um(um_de_cada: None) -> None:
    chefe = User.objects.create_superuser("chefe")
    cliente = entrar_como(ADMINISTRACAO)
    eu = User.objects.get(username="bia")
    for alvo in (eu, chefe):
        cliente.post(
            f"/admin/auth/user/{alvo.pk}/change/",
            {"username": alvo.username, "is_superuser": "on", "is_staff": "on", "is_active": "on"},
        )
    eu.refresh_from_db()
    assert not eu.is_superuser
    assert cliente.post(f"/admin/auth/user/{chefe.pk}/password/", {}).status_code == 403
    assert cliente.post(f"/admin/auth/user/{chefe.pk}/remover-segundo-fator/").status_code == 403


def test_quem_edita_usuarios_sem_cuidar_dos_grupos_nao_se_da_um_papel(db: None) -> None:
    cliente = entrar_como()
    eu = User.objects.get(username="bia")
    eu.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    cliente.post(
        f"/admin/auth/user/{eu.pk}/change/",
        {
            "username": "bia",
            "is_staff": "on",
            "is_active": "on",
            "groups": [Group.objects.get(name=ADMINISTRACAO).pk],
        },
    )
    assert not eu.groups.exists()


def test_papel_nao_se_edita_nem_se_apaga_pela_tela(painel: Client) -> None:
    papel = Group.objects.get(name=SUPORTE)
    antes = set(papel.permissions.values_list("codename", flat=True))
    base = f"/admin/auth/group/{papel.pk}/"
    assert painel.post(f"{base}change/", {"name": "X"}).status_code == 403
    assert painel.post(f"{base}delete/", {"post": "yes"}).status_code == 403
    apagar = {"action": "delete_selected", "_selected_action": [papel.pk], "post": "yes"}
    painel.post("/admin/auth/group/", apagar)
    assert set(Group.objects.get(pk=papel.pk).permissions.values_list("codename", flat=True)) == antes


# ---- A tabela e o banco


def test_migrate_deixa_os_papeis_exatamente_como_a_tabela(db: None) -> None:
    suporte = Group.objects.get(name=SUPORTE)
    antes = set(suporte.permissions.values_list("content_type__app_label", "codename"))
    suporte.permissions.add(Permission.objects.get(codename="change_aplicativo"))
    suporte.permissions.remove(Permission.objects.get(codename="change_erro"))
    Group.objects.filter(name=OPERACAO).delete()
    for _ in range(2):
        call_command("migrate", verbosity=0)
    assert set(suporte.permissions.values_list("content_type__app_label", "codename")) == antes
    assert ("ingestao", "change_erro") in antes
    assert Group.objects.get(name=OPERACAO).permissions.filter(codename="change_excecao").exists()
    assert Group.objects.filter(name__in=PAPEIS).count() == 3


def test_modelo_novo_entra_na_administracao_sem_linha_nova(db: None) -> None:
    tipo = Permission.objects.get(codename="view_sessao").content_type
    Permission.objects.create(codename="view_modelonovo", name="x", content_type=tipo)
    aplicar_papeis()
    tem = {papel: Group.objects.get(name=papel).permissions for papel in PAPEIS}
    assert tem[ADMINISTRACAO].filter(codename="view_modelonovo").exists()
    assert not tem[SUPORTE].filter(codename="view_modelonovo").exists()


def test_papeis_nao_dao_permissao_por_engano(db: None) -> None:
    da_operacao = Group.objects.get(name=OPERACAO).permissions.values_list("codename", flat=True)
    assert not {"revelar", "change_integracao", "delete_integracao", "change_user"} & set(da_operacao)
    do_suporte = set(Group.objects.get(name=SUPORTE).permissions.values_list("codename", flat=True))
    assert do_suporte == {
        "view_sessao",
        "view_evento",
        "view_erro",
        "change_erro",
        "view_captura",
        "view_pedido",
        "add_pedido",
        "view_capturarecusada",
        "view_relatodedescarte",
        "view_recusadecaptura",
        "view_medidadecaptura",
    }
    assert Sessao._meta.label_lower in PAPEIS[SUPORTE]
