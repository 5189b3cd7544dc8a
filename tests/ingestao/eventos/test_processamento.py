"""O que o worker faz com um lote: cada regra, e nada duas vezes."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from ingestao.eventos.gravacao import COPIA_A_PARTIR_DE
from ingestao.eventos.processamento import CAIXA_DE_LOTES, uuid5_texto
from ingestao.models import Aplicativo, AvisoFranquia, Erro, Evento, Lote, Sessao, Uso
from tests.ingestao.conftest import Postar, Processar, evento


def ha(**tempo: float) -> str:
    return (timezone.now() - timedelta(**tempo)).isoformat()


@given(st.text())
def test_uuid5_feito_a_mao_e_o_da_biblioteca(nome: str) -> None:
    assert uuid5_texto(nome) == str(uuid.uuid5(uuid.NAMESPACE_OID, nome))


def test_pulso_so_marca_atividade(postar: Postar, processar: Processar) -> None:
    antes = timezone.now()
    postar(evento(ocorrido_em=ha(hours=2)))
    processar()
    postar(evento(tipo="PULSO"))
    processar()
    sessao = Sessao.objects.get()
    assert (Evento.objects.count(), sessao.quantidade_eventos) == (1, 1)
    assert sessao.ultima_atividade_em >= antes
    assert Uso.objects.get().quantidade_eventos == 1


def test_so_pulso_cria_a_sessao_sem_contar_uso(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    postar(evento(tipo="PULSO"))
    processar()
    assert Sessao.objects.get().quantidade_eventos == 0
    assert not Uso.objects.exists()
    aplicativo.refresh_from_db()
    assert aplicativo.primeiro_evento_em is None


def test_lote_grande_reenviado_depois_de_aplicado_nao_vira_veneno(
    postar: Postar, processar: Processar
) -> None:
    """O caminho do COPY, sem nada de novo para copiar; e o vizinho novo na mesma transação."""
    lote = [evento() for _ in range(COPIA_A_PARTIR_DE)]
    for _ in range(2):
        postar(*lote)
        processar()
    postar(*lote)
    postar(evento(), evento(tipo="PULSO"))
    processar()
    assert not Lote.objects.exists()
    assert Evento.objects.count() == Sessao.objects.get().quantidade_eventos == COPIA_A_PARTIR_DE + 1
    assert Uso.objects.get().quantidade_eventos == COPIA_A_PARTIR_DE + 1


@pytest.mark.parametrize("vezes", [2, 10])
def test_o_mesmo_lote_reenviado_nao_muda_nada(postar: Postar, processar: Processar, vezes: int) -> None:
    lote = [evento(tipo="ERRO_JS", mensagem="x"), evento(), evento(tipo="PULSO")]
    for n in range(vezes):
        postar(*lote)
        if n % 2:
            processar()
    processar()
    sessao = Sessao.objects.get()
    assert (Evento.objects.count(), sessao.quantidade_eventos, sessao.quantidade_erros) == (2, 2, 1)
    assert Erro.objects.get().quantidade == 1
    assert Uso.objects.get().quantidade_eventos == 2


def test_mesmo_id_duas_vezes_no_lote_e_uma_linha(postar: Postar, processar: Processar) -> None:
    assert (
        postar(evento(evento_id="x", nome="primeiro"), evento(evento_id="x", nome="segundo")).json()[
            "aceitos"
        ]
        == 2
    )
    processar()
    assert Evento.objects.get().nome == "primeiro"
    assert Sessao.objects.get().quantidade_eventos == 1


def test_mesmo_id_em_dois_aplicativos_sao_duas_linhas(postar: Postar, processar: Processar) -> None:
    outro = Aplicativo.objects.create(nome="Outra", dominios=["exemplo.com.br"])
    postar(evento(evento_id="x"))
    postar(evento(evento_id="x"), chave=outro.chave)
    processar()
    assert Evento.objects.filter(evento_id="x").count() == 2
    assert sorted(Uso.objects.values_list("quantidade_eventos", flat=True)) == [1, 1]


def test_identificacao_grava_o_usuario_da_mais_recente_em_qualquer_ordem(
    postar: Postar, processar: Processar
) -> None:
    postar(
        evento(tipo="IDENTIFICACAO", usuario_id="nova", ocorrido_em=ha(minutes=1)),
        evento(tipo="IDENTIFICACAO", usuario_id="velha", ocorrido_em=ha(minutes=9)),
        sessao={"sessao_externa": "s", "usuario_id": "da sessão"},
    )
    processar()
    postar(
        evento(tipo="IDENTIFICACAO", usuario_id="do meio", ocorrido_em=ha(minutes=5)),
        evento(tipo="IDENTIFICACAO"),
        evento(tipo="CLIQUE", usuario_id="não conta"),
        sessao={"sessao_externa": "s"},
    )
    processar()
    assert Sessao.objects.get().usuario_id == "nova"


def test_usuario_numerico_vira_texto(postar: Postar, processar: Processar) -> None:
    postar(evento(tipo="IDENTIFICACAO", usuario_id=42))
    processar()
    assert Sessao.objects.get().usuario_id == "42"


def test_carregamento_grava_o_tempo_da_sessao(postar: Postar, processar: Processar) -> None:
    postar(
        evento(tipo="DESEMPENHO", metrica="CARREGAMENTO", valor=812.5, ocorrido_em=ha(minutes=1)),
        evento(tipo="DESEMPENHO", metrica="CARREGAMENTO", valor=99, ocorrido_em=ha(minutes=3)),
        evento(tipo="DESEMPENHO", metrica="LCP", valor=1),
        evento(tipo="CLIQUE", metrica="CARREGAMENTO", valor=2),
    )
    processar()
    assert Sessao.objects.get().tempo_carregamento_ms == 812.5


def test_carregamento_sem_valor_usa_a_duracao_e_negativo_nao_conta(
    postar: Postar, processar: Processar
) -> None:
    postar(
        evento(tipo="DESEMPENHO", metrica="CARREGAMENTO", duracao_ms=1234, ocorrido_em=ha(minutes=5)),
        evento(tipo="DESEMPENHO", metrica="CARREGAMENTO", valor=-5.5, ocorrido_em=ha(minutes=1)),
    )
    processar()
    assert Sessao.objects.get().tempo_carregamento_ms == 1234


def test_tempos_da_sessao_so_se_alargam(postar: Postar, processar: Processar) -> None:
    for horas in (5, 9, 7, 2, 3):
        postar(evento(ocorrido_em=ha(hours=horas)))
        processar()
    sessao = Sessao.objects.get()
    assert timedelta(hours=8.9) < timezone.now() - sessao.primeira_atividade_em < timedelta(hours=9.1)
    assert timedelta(hours=1.9) < timezone.now() - sessao.ultima_atividade_em < timedelta(hours=2.1)


def test_relogio_adiantado_nao_envenena_sessao_nem_erro(postar: Postar, processar: Processar) -> None:
    postar(evento(tipo="ERRO_JS", ocorrido_em="2099-01-01T00:00:00Z"), evento(tipo="ERRO_JS", ocorrido_em=0))
    processar()
    agora = timezone.now()
    sessao, erro = Sessao.objects.get(), Erro.objects.get()
    for instante in (
        sessao.primeira_atividade_em,
        sessao.ultima_atividade_em,
        erro.primeira_ocorrencia_em,
        erro.ultima_ocorrencia_em,
    ):
        assert timedelta(0) <= agora - instante < timedelta(minutes=1)
    assert set(Evento.objects.values_list("ocorrido_em_original", flat=True)) == {"2099-01-01T00:00:00Z", "0"}


def test_erros_iguais_se_juntam_e_contam_na_sessao(postar: Postar, processar: Processar) -> None:
    postar(
        evento(tipo="ERRO_JS", nome="TypeError", mensagem="pedido 1"),
        evento(tipo="ERRO_JS", nome="TypeError", mensagem="pedido 2"),
        evento(tipo="PROMISE_REJEITADA", mensagem="rede"),
        evento(tipo="CONSOLE", nivel="error", mensagem="ops"),
        evento(tipo="CONSOLE", nivel="warn", mensagem="ops"),
    )
    processar()
    assert sorted(Erro.objects.values_list("tipo", "quantidade")) == [
        ("CONSOLE", 1),
        ("ERRO_JS", 2),
        ("PROMISE_REJEITADA", 1),
    ]
    assert Sessao.objects.get().quantidade_erros == 4
    grupo = Erro.objects.get(tipo="ERRO_JS")
    assert (grupo.titulo, grupo.estado, grupo.versao) == ("TypeError: pedido 1", "aberto", 1)
    assert set(Evento.objects.filter(erro=grupo).values_list("mensagem", flat=True)) == {
        "pedido 1",
        "pedido 2",
    }


@pytest.mark.parametrize(
    ("estado", "depois", "regressoes"), [("resolvido", "aberto", 1), ("ignorado", "ignorado", 0)]
)
def test_erro_resolvido_que_volta_e_reaberto_e_o_ignorado_nao(
    postar: Postar, processar: Processar, estado: str, depois: str, regressoes: int
) -> None:
    postar(evento(tipo="ERRO_JS", mensagem="x"))
    processar()
    Erro.objects.update(estado=estado, resolvido_em=timezone.now())
    postar(evento(tipo="ERRO_JS", mensagem="x"))
    balanco = processar()
    erro = Erro.objects.get()
    assert (erro.estado, erro.regressoes, erro.quantidade) == (depois, regressoes, 2)
    assert balanco.seguimentos == ["avisar"] * regressoes


def test_evento_que_ja_estava_na_fila_ou_repetido_nao_e_regressao(
    postar: Postar, processar: Processar
) -> None:
    primeiro = evento(tipo="ERRO_JS", mensagem="x")
    postar(primeiro)
    processar()
    postar(evento(tipo="ERRO_JS", mensagem="x"))
    Erro.objects.update(estado="resolvido", resolvido_em=timezone.now())
    postar(primeiro)
    processar()
    erro = Erro.objects.get()
    assert (erro.estado, erro.regressoes, erro.quantidade) == ("resolvido", 0, 2)


def test_uso_e_do_dia_da_recepcao_no_fuso_do_servidor(postar: Postar, processar: Processar) -> None:
    postar(evento(ocorrido_em=ha(days=3)))
    Lote.objects.update(recebido_em=datetime(2026, 3, 1, 2, 30, tzinfo=UTC))  # 23h30 de 28/02 em São Paulo
    processar()
    assert str(Uso.objects.get().dia) == "2026-02-28"


def test_cada_percentual_da_franquia_e_avisado_uma_vez_por_periodo(
    postar: Postar, processar: Processar
) -> None:
    Aplicativo.objects.update(franquia=10)
    for _ in range(14):
        postar(evento())
        processar()
    assert sorted(AvisoFranquia.objects.values_list("percentual", "quantidade")) == [(80, 8), (100, 10)]


def test_um_lote_so_pode_cruzar_os_dois_avisos(postar: Postar, processar: Processar) -> None:
    Aplicativo.objects.update(franquia=2)
    postar(*[evento() for _ in range(9)])
    assert processar().seguimentos == ["avisar"]
    assert sorted(AvisoFranquia.objects.values_list("percentual", flat=True)) == [80, 100]


def test_primeiro_evento_em_e_preenchido_uma_vez(
    postar: Postar, processar: Processar, aplicativo: Aplicativo
) -> None:
    postar(evento())
    processar()
    aplicativo.refresh_from_db()
    primeiro = aplicativo.primeiro_evento_em
    assert primeiro is not None
    postar(evento())
    processar()
    aplicativo.refresh_from_db()
    assert aplicativo.primeiro_evento_em == primeiro


def test_muitos_lotes_custam_as_mesmas_consultas_que_um(
    postar: Postar, processar: Processar, django_assert_num_queries: Any
) -> None:
    def custo(lotes: int) -> int:
        from django.db import connection
        from django.test.utils import CaptureQueriesContext

        for n in range(lotes):
            postar(evento(), evento(tipo="ERRO_JS"), sessao={"sessao_externa": f"s-{n}"})
        with CaptureQueriesContext(connection) as consultas:
            CAIXA_DE_LOTES.esvaziar()
        return len(consultas)

    assert custo(30) == custo(1)
