"""Threads e transações de verdade: o mesmo instante, a mesma mensagem, o mesmo evento."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.utils import timezone

from dlr import amarracao, excecoes, gravacao, materializacao, nascimento
from dlr.excecoes import AcaoImpossivel, Ato
from dlr.models import EventoLogico, Excecao, Mensagem, Ocorrencia, Projecao, Recepcao, RecepcaoPendente
from dlr.processamento import CAIXA_DE_RECEPCOES
from dlr.registro import registrar
from ingestao.caixa import fila
from tests.dlr.conftest import Ligada, abertas, aplicar_caixa, criar, enviada, estado_de, recibo
from tests.dlr.retrato import envelhecer, refazer_do_zero, retratar_com_ordem

pytestmark = pytest.mark.django_db(transaction=True)


def juntos(*tarefas: Callable[[], Any]) -> None:
    """Roda as tarefas ao mesmo tempo, cada uma com a sua conexão; uma falha em qualquer delas é falha."""
    largada = threading.Barrier(len(tarefas), timeout=30)

    def correr(tarefa: Callable[[], Any]) -> None:
        try:
            largada.wait()
            tarefa()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(tarefas)) as threads:
        for futuro in [threads.submit(correr, tarefa) for tarefa in tarefas]:
            futuro.result(60)


@pytest.fixture
def impasses(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Os impasses que a caixa repetiria calada."""
    vistos: list[Any] = []
    monkeypatch.setattr(fila, "_e_conflito_passageiro", lambda erro: vistos.append(erro) or False)
    return vistos


@pytest.fixture
def vagar(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Abre as janelas das corridas: uma pausa curta e variável depois de cada leitura que decide."""
    sorteio = random.Random(7)

    def devagar(original: Callable[..., Any]) -> Callable[..., Any]:
        def chamar(*args: Any, **kwargs: Any) -> Any:
            resultado = original(*args, **kwargs)
            time.sleep(sorteio.choice([0, 0, 0.001, 0.004]))
            return resultado

        return chamar

    monkeypatch.setattr(amarracao, "_buscar_candidatas", devagar(amarracao._buscar_candidatas))
    monkeypatch.setattr(amarracao, "_soltos_que_falam_de", devagar(amarracao._soltos_que_falam_de))
    monkeypatch.setattr(materializacao, "_projetar_todas", devagar(materializacao._projetar_todas))
    monkeypatch.setattr(nascimento, "buscar_gravados", devagar(nascimento.buscar_gravados))
    return


def receber(integracao: Ligada, *recibos: Any) -> None:
    recepcao = gravacao.RecepcaoNova(
        integracao_id=integracao.id,
        recebida_em=timezone.now(),
        metodo="POST",
        url="/",
        consulta=b"",
        cabecalhos={},
        corpo=orjson.dumps(list(recibos)),
    )
    gravacao.gravar_recepcoes([recepcao])


def inscrever(integracao: Ligada, *mensagens: dict[str, Any]) -> None:
    registrar(integracao.objeto, list(mensagens), timezone.now())


@pytest.mark.parametrize("opcoes", [(), ("id_caixa=ignorar",)], ids=["exata", "tolerante"])
def test_registro_e_recibo_no_mesmo_instante_sempre_se_atam_sem_a_varredura(
    transactional_db: None, vagar: None, impasses: list[Any], opcoes: tuple[str, ...]
) -> None:
    ligada = criar("corrida", "padrao", *opcoes)
    for rodada in range(60):
        id_externo = f"x{rodada}"

        def chegar(id_externo: str = id_externo) -> None:
            receber(ligada, recibo(id_externo.upper() if opcoes else id_externo, "DELIVERED"))
            aplicar_caixa()

        def enviar(rodada: int = rodada, id_externo: str = id_externo) -> None:
            inscrever(ligada, enviada(f"m{rodada}", id_externo))

        juntos(chegar, enviar)
        assert estado_de(f"m{rodada}") == ("DELIVERED", True, "final"), rodada
    assert not impasses and not Excecao.objects.exists()


def test_registro_repeticao_e_envelhecimento_no_mesmo_instante_nunca_deixam_o_recibo_solto(
    transactional_db: None, vagar: None, impasses: list[Any]
) -> None:
    """Quem conta uma repetição, ou envelhece o recibo, está com ele travado quando a mensagem aparece."""
    ligada = criar("corrida", "padrao", "id_caixa=ignorar", "janela_espera_s=0")
    for rodada in range(30):
        receber(ligada, recibo(f"x{rodada}", "DELIVERED"))
        aplicar_caixa()
        receber(ligada, recibo(f"x{rodada}", "DELIVERED"))
        juntos(
            aplicar_caixa,
            envelhecer,
            lambda rodada=rodada: inscrever(ligada, enviada(f"m{rodada}", f"X{rodada}")),
        )
        assert estado_de(f"m{rodada}") == ("DELIVERED", True, "final"), rodada
    assert set(EventoLogico.objects.values_list("qtd_recepcoes", "correlacao")) == {(2, "unica")}
    assert abertas() == [] and not impasses


def test_cem_copias_em_paralelo_sao_cem_recepcoes_um_evento_e_um_efeito(
    transactional_db: None, impasses: list[Any]
) -> None:
    ligada = criar("copias")
    inscrever(ligada, enviada("m1", "x1"))

    def postar() -> None:
        for _ in range(10):
            resposta = Client().post(
                ligada.url, orjson.dumps(recibo("x1", "DELIVERED")), content_type="application/json"
            )
            assert resposta.status_code == 202

    juntos(*[postar] * 10, *[aplicar_caixa] * 3)
    aplicar_caixa()
    assert Recepcao.objects.count() == 100 and not RecepcaoPendente.objects.exists()
    evento = EventoLogico.objects.get()
    assert (evento.qtd_recepcoes, evento.papel) == (100, "sustenta")
    assert Ocorrencia.objects.filter(repeticao=False).count() == 1
    assert Projecao.objects.get().sustentam == [evento.pk]
    assert evento.recepcao_id == Recepcao.objects.order_by("pk").values_list("pk", flat=True)[0]
    assert not Excecao.objects.exists() and not impasses


def test_o_mesmo_evento_gravado_por_outro_worker_no_meio_conta_uma_vez_e_a_primeira_recepcao_manda(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """O outro aplica a segunda cópia depois de o primeiro ter visto que o evento não existia."""
    ligada = criar("no-meio", "padrao")
    for _ in range(2):
        receber(ligada, recibo("x1", "DELIVERED"), recibo("x2", "ENROUTE"))
    primeira, segunda = RecepcaoPendente.objects.order_by("id").values_list("id", "recepcao_id")
    original = nascimento.reservar_ids

    def aplicar_so(pendente: int) -> None:
        CAIXA_DE_RECEPCOES._aplicar_pendentes([], 1, fila.Balanco(), somente=[pendente])

    def depois_do_outro(quantos: int) -> list[int]:
        monkeypatch.setattr(nascimento, "reservar_ids", original)
        juntos(lambda: aplicar_so(segunda[0]))
        return original(quantos)

    monkeypatch.setattr(nascimento, "reservar_ids", depois_do_outro)
    aplicar_so(primeira[0])
    assert not RecepcaoPendente.objects.exists()
    eventos = EventoLogico.objects.order_by("indice").values_list(
        "id_externo", "recepcao_id", "qtd_recepcoes"
    )
    assert list(eventos) == [("x1", primeira[1], 2), ("x2", primeira[1], 2)]
    ocorrencias = Ocorrencia.objects.order_by("recepcao_id", "indice").values_list("recepcao_id", "repeticao")
    assert sorted(ocorrencias) == sorted(
        [(primeira[1], False), (primeira[1], False), (segunda[1], True), (segunda[1], True)]
    )
    inscrever(ligada, enviada("m1", "x1"), enviada("m2", "x2"))
    assert estado_de("m1") == ("DELIVERED", True, "final")
    assert estado_de("m2") == ("ENROUTE", False, "intermediario")


def aplicar_so(recepcao_id: int) -> None:
    pendente = RecepcaoPendente.objects.get(recepcao_id=recepcao_id)
    CAIXA_DE_RECEPCOES._aplicar_pendentes([], 1, fila.Balanco(), somente=[pendente.pk])


def test_solto_atado_por_um_registro_enquanto_e_antecipado_recalcula_a_mensagem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A primeira recepção chega por último; no meio dela, alguém registra a mensagem e ata os dois."""
    ligada = criar("antecipado", "padrao")
    for estado in ("DELIVERED", "UNDELIVERABLE", "DELIVERED"):
        receber(ligada, recibo("x1", estado))
    primeira, segunda, terceira = Recepcao.objects.order_by("pk").values_list("pk", flat=True)
    aplicar_so(segunda)
    aplicar_so(terceira)
    original = nascimento.antecipar

    def depois_do_registro(*argumentos: Any) -> dict[int, int | None]:
        juntos(lambda: inscrever(ligada, enviada("m1", "x1")))
        assert estado_de("m1")[0] == "UNDELIVERABLE"
        return original(*argumentos)

    monkeypatch.setattr(nascimento, "antecipar", depois_do_registro)
    aplicar_so(primeira)
    assert estado_de("m1") == ("DELIVERED", True, "conflito_mantem_o_primeiro")


def test_antecipa_pelo_primeiro_item_que_conta_o_mesmo_mesmo_atras_de_um_id_reutilizado() -> None:
    ligada = criar("reutilizado", "padrao")
    for estado in ("UNDELIVERABLE", "DELIVERED", "DELIVERED"):
        receber(ligada, recibo("x1", estado, evento_id="e1"))
    primeira, segunda, terceira = Recepcao.objects.order_by("pk").values_list("pk", flat=True)
    aplicar_so(terceira)
    aplicar_caixa()
    evento = EventoLogico.objects.get()
    assert (evento.estado, evento.recepcao_id, evento.qtd_recepcoes) == ("DELIVERED", segunda, 2)
    ocorrencias = Ocorrencia.objects.order_by("recepcao_id").values_list(
        "recepcao_id", "evento_id", "repeticao"
    )
    assert list(ocorrencias) == [
        (primeira, None, False),
        (segunda, evento.pk, False),
        (terceira, evento.pk, True),
    ]
    assert abertas() == ["id_de_evento_reutilizado"]


@pytest.mark.parametrize("semente", range(4))
def test_varios_workers_com_recepcoes_entrelacadas_nao_travam_e_dao_o_mesmo_que_um_so(
    transactional_db: None, vagar: None, impasses: list[Any], semente: int
) -> None:
    sorteio = random.Random(semente)
    ligada = criar("entrelacada")
    mensagens = [enviada(f"m{n}", f"x{n}") for n in range(12)]
    inscrever(ligada, *mensagens[:6])
    estados = ["ENROUTE", "ACCEPTED", "DELIVERED", "UNDELIVERABLE", "FOO"]
    for _ in range(120):
        quais = [sorteio.choice(estados) for _ in range(sorteio.randint(1, 4))]
        receber(ligada, *[recibo(f"x{sorteio.randrange(12)}", estado) for estado in quais])
    caixa = replace(CAIXA_DE_RECEPCOES, peso_por_vez=5)  # transações pequenas: muitas entrelaçadas

    def trabalhar() -> None:
        balanco = caixa.esvaziar()
        assert (balanco.adiados, balanco.estacionados) == (0, 0)
        amarracao.atar_soltos(timezone.now(), ids=balanco.seguimentos)

    def inscrever_aos_poucos() -> None:
        for mensagem in sorted(mensagens, key=lambda m: str(m["id_interno"]), reverse=True):
            inscrever(ligada, mensagem, mensagens[0], mensagens[5])

    autor = User.objects.create_user("operadora")

    def escolher() -> None:
        for _ in range(20):
            excecao = Excecao.objects.filter(tipo="conflito_final", situacao="aberta").first()
            if excecao is None:
                time.sleep(0.01)
                continue
            ato = Ato(autor=autor, motivo="a operadora confirmou", agora=timezone.now())
            with suppress(AcaoImpossivel):  # EXPIRED ninguém comunicou: recusado, só toma e solta as travas
                excecoes.escolher_final(excecao.pk, sorteio.choice(["EXPIRED", "UNDELIVERABLE"]), ato)

    juntos(trabalhar, trabalhar, trabalhar, inscrever_aos_poucos, escolher, escolher)
    assert not impasses and not RecepcaoPendente.objects.exists()
    assert Mensagem.objects.count() == Projecao.objects.count() == 12
    incremental = retratar_com_ordem()
    refazer_do_zero()
    assert retratar_com_ordem() == incremental
