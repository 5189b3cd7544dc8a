"""Quem abre cada rota do painel.

Uma rota nova sem linha aqui faz `test_rotas.py` falhar: alguém decide quem a abre antes de ela existir em produção.
"""

from collections.abc import Iterator

from django.contrib import admin
from django.urls import URLPattern, URLResolver

from painel.permissoes import ADMINISTRACAO, OPERACAO, SUPORTE

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
