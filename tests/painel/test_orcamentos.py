"""Quantas consultas custa cada tela, com muitas linhas: o número está na tabela, e só sobe de propósito.

Toda lista registrada no painel é conferida, mesmo sem linha na tabela: vale o `PADRAO`. Uma tela que custa mais
que ele, ou que tem filtros que mudam o custo, ganha a sua linha.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from dlr.models import RecepcaoPendente, RecusaDeCallback
from ingestao.models import Aplicativo, Lote, Uso
from tests.painel.conftest import erro_js
from tests.painel.recibos import Ligada, criar, passar_a_janela, recibo

pytestmark = pytest.mark.django_db

MUITAS = 12
# Sessão, usuário e segundo fator da requisição, a contagem, a página, as opções dos filtros e o que se anota nela.
PADRAO = 10

# app.modelo[?filtros] → consultas, no máximo.
LISTAS: dict[str, int] = {
    "ingestao.evento?q=inexistente&aplicativo={aplicativo}&periodo=7d": 10,
    "ingestao.evento?pessoa=u1": 10,
    "ingestao.sessao?q=u1": 10,
    "ingestao.erro?ordem=ocorrencias": 7,
    "ingestao.uso": 8,
    "dlr.excecao": 9,
    "dlr.integracao": 7,
}
# app.modelo → consultas da página de um registro com história, no máximo.
PAGINAS: dict[str, int] = {
    "ingestao.aplicativo": 8,
    "ingestao.sessao": 10,
    "ingestao.evento": 8,
    "ingestao.erro": 12,
    "ingestao.lote": 6,
    "dlr.excecao": 18,
    "dlr.mensagem": 18,
    "dlr.recepcao": 8,
    "dlr.eventologico": 9,
    "dlr.integracao": 8,
    "dlr.recepcaopendente": 7,
}
GRANDES = (
    "ingestao_evento ingestao_sessao ingestao_erro ingestao_lote dlr_recepcao dlr_mensagem dlr_eventologico"
    " dlr_excecao dlr_recepcaopendente"
).split()
LIMITADA = re.compile(r"COUNT\(\*\).* FROM \(\s*SELECT .* LIMIT \d+\s*\)", re.IGNORECASE | re.DOTALL)


def registradas() -> list[str]:
    """As listas que o painel tem agora, como `app.modelo`."""
    return sorted(modelo._meta.label_lower for modelo in admin.site._registry)


def endereco_da_lista(lista: str, aplicativo: Aplicativo) -> str:
    modelo, interrogacao, filtros = lista.partition("?")
    base = reverse(f"admin:{modelo.replace('.', '_')}_changelist")
    return base + interrogacao + filtros.format(aplicativo=aplicativo.pk)


@pytest.fixture
def cheio(mandar: Callable[..., int], aplicativo: Aplicativo, ligada: Ligada) -> Aplicativo:
    """Muitas linhas em cada tabela, cada uma de um dono diferente: o que denuncia uma consulta por linha."""
    ligada.registrar("pedido-1", "abc1")
    ligada.receber([recibo("abc1", "ENROUTE"), recibo("abc1"), recibo("abc1", "EXPIRED"), 7])
    for n in range(MUITAS):
        dono = Aplicativo.objects.create(nome=f"Loja {n}", dominios=["loja.com.br"], chave=f"pk_live_{n:04}")
        eventos = [erro_js(f"m{n}", mensagem="abcdefghijkl"[n] * 9), {"tipo": 1}]
        mandar(*eventos, chave=dono.chave, sessao_externa=f"t{n}", usuario_id="u1", anonimo_id=f"a{n}")
        mandar(erro_js(f"x{n}"), sessao_externa=f"s{n}", usuario_id="u1")
        Uso.objects.create(aplicativo=aplicativo, dia=timezone.localdate() - timedelta(days=n + 1))
        Lote.objects.create(aplicativo=dono, conteudo=b"{}", estacionado_em=timezone.now())
        outra = criar(f"outra-{n}")
        outra.registrar(f"m{n}", f"e{n}")
        outra.receber([recibo(f"e{n}"), recibo(f"e{n}", "EXPIRED"), recibo(f"orfao-{n}"), 3])
        RecusaDeCallback.objects.create(integracao_id=outra.id, dia=timezone.localdate(), motivo="sem_prova")
        ligada.receber([recibo("abc1", "EXPIRED", erro=str(n))])
    passar_a_janela()
    for recepcao in range(1, MUITAS):
        RecepcaoPendente.objects.create(recepcao_id=recepcao)
    return aplicativo


def conferir(cliente: Client, endereco: str, limite: int) -> None:
    with CaptureQueriesContext(connection) as consultas:
        resposta = cliente.get(endereco)
    assert resposta.status_code == 200, endereco
    feitas = "\n".join(c["sql"][:160] for c in consultas)
    assert len(consultas) <= limite, (
        f"{endereco}: {len(consultas)} consultas, e o orçamento é {limite}\n{feitas}"
    )


def test_nenhuma_lista_estoura_o_orcamento(painel: Client, cheio: Aplicativo) -> None:
    for lista in dict.fromkeys([*registradas(), *LISTAS]):
        conferir(painel, endereco_da_lista(lista, cheio), LISTAS.get(lista, PADRAO))


def test_nenhuma_pagina_estoura_o_orcamento(painel: Client, cheio: Aplicativo) -> None:
    com_historia: dict[str, dict[str, Any]] = {
        "dlr.excecao": {"tipo": "conflito_final", "mensagem__id_interno": "pedido-1"},
        "dlr.mensagem": {"id_interno": "pedido-1"},
        "ingestao.erro": {"quantidade__gt": 1},
    }
    for modelo, limite in PAGINAS.items():
        registro = apps.get_model(modelo)._default_manager.filter(**com_historia.get(modelo, {})).first()
        assert registro is not None, modelo
        conferir(painel, reverse(f"admin:{modelo.replace('.', '_')}_change", args=[registro.pk]), limite)


def test_nenhuma_tela_conta_uma_tabela_grande_inteira(painel: Client, cheio: Aplicativo) -> None:
    enderecos = [endereco_da_lista(lista, cheio) for lista in dict.fromkeys([*registradas(), *LISTAS])]
    enderecos.append(f"{reverse('admin:ingestao_sessao_changelist')}?aplicativo={cheio.pk}&periodo=hoje")
    with CaptureQueriesContext(connection) as consultas:
        for endereco in enderecos:
            painel.get(endereco)
    contagens = [c["sql"] for c in consultas if "COUNT(*)" in c["sql"].upper()]
    assert len(contagens) > len(GRANDES)
    assert [sql for sql in contagens if any(t in sql for t in GRANDES) and not LIMITADA.search(sql)] == []
