"""A caixa de entrada por si: ordem, peso, veneno, estacionamento, teto, despertador."""

import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import OperationalError, connection
from django.utils import timezone

from ingestao.caixa import Caixa, Despertador, PortaFechada, fila
from ingestao.caixa.fila import ITENS_NO_COMECO, RECUO_MAXIMO_S, TENTATIVAS_MAXIMAS, recuo_s
from ingestao.caixa.medida import TetoDaPorta, idade_s, medir
from ingestao.models import Lote

Aplicar = Callable[[Sequence[tuple[Any, ...]]], Sequence[Any]]


def caixa(aplicar: Aplicar, *, peso_por_vez: int = 1_000) -> Caixa:
    return Caixa(modelo=Lote, colunas=("conteudo",), aplicar=aplicar, peso_por_vez=peso_por_vez, tarefa="x")


def por(*conteudos: str, peso: int = 1) -> list[int]:
    return [Lote.objects.create(conteudo=c.encode(), peso=peso).pk for c in conteudos]


class Diario:
    """Aplica anotando numa tabela (logo, desfeito junto com a transação) e recusa o que contém veneno."""

    def __init__(self) -> None:
        self.transacoes: list[list[str]] = []

    def __call__(self, itens: Sequence[tuple[Any, ...]]) -> list[str]:
        conteudos = [item[2].decode() for item in itens]
        with connection.cursor() as cursor:
            for conteudo in conteudos:
                cursor.execute("INSERT INTO diario VALUES (%s)", [conteudo])
        if any("veneno" in conteudo for conteudo in conteudos):
            raise ValueError("não sei ler \x00 veneno")
        if any("zero" in conteudo for conteudo in conteudos):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1/0")
        self.transacoes.append(conteudos)
        return [f"seguir {conteudo}" for conteudo in conteudos]

    @staticmethod
    def anotado() -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT conteudo FROM diario")
            return [linha[0] for linha in cursor.fetchall()]


@pytest.fixture
def diario(db: None) -> Iterator[Diario]:
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE diario (conteudo text) ON COMMIT PRESERVE ROWS")
    yield Diario()
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE diario")


def test_aplica_em_ordem_de_chegada_e_apaga(diario: Diario) -> None:
    por("a", "b", "c")
    balanco = caixa(diario).esvaziar()
    assert (balanco.aplicados, balanco.restou) == (3, False)
    assert balanco.seguimentos == ["seguir a", "seguir b", "seguir c"]
    assert diario.transacoes == [["a", "b", "c"]]
    assert not Lote.objects.exists()


def test_caixa_vazia_nao_chama_ninguem(diario: Diario) -> None:
    assert caixa(diario).esvaziar().aplicados == 0
    assert diario.transacoes == []


def test_peso_limita_cada_transacao_mas_item_maior_que_o_limite_passa_sozinho(diario: Diario) -> None:
    por("a", "b", "c", peso=40)
    por("enorme", peso=900)
    por("d", peso=40)
    caixa(diario, peso_por_vez=100).esvaziar()
    assert diario.transacoes == [["a", "b", "c"], ["enorme"], ["d"]]


def test_turno_vencido_devolve_o_worker_e_diz_que_restou(diario: Diario) -> None:
    por("a", "b", peso=100)
    balanco = caixa(diario, peso_por_vez=100).esvaziar(turno_s=0)
    assert (balanco.aplicados, balanco.restou) == (1, True)
    assert Lote.objects.count() == 1


@pytest.mark.parametrize("mal", ["veneno", "zero"], ids=["excecao do python", "erro do banco"])
@pytest.mark.parametrize("posicao", [0, 3, 7])
def test_veneno_e_isolado_e_os_vizinhos_sao_aplicados_uma_vez(diario: Diario, mal: str, posicao: int) -> None:
    conteudos = [f"bom {n}" for n in range(7)]
    conteudos.insert(posicao, mal)
    por(*conteudos)
    balanco = caixa(diario).esvaziar()
    assert (balanco.aplicados, balanco.adiados, balanco.estacionados) == (7, 1, 0)
    assert sorted(Diario.anotado()) == sorted(f"bom {n}" for n in range(7))
    parado = Lote.objects.get()
    assert (bytes(parado.conteudo).decode(), parado.tentativas, parado.estacionado_em) == (mal, 1, None)
    assert parado.disponivel_em is not None and parado.disponivel_em > timezone.now()
    assert "\x00" not in parado.falha and parado.falha.startswith(("ValueError", "DataError"))


def test_item_adiado_nao_e_tentado_antes_da_hora(diario: Diario) -> None:
    por("veneno")
    caixa(diario).esvaziar()
    caixa(diario).esvaziar()
    assert Lote.objects.get().tentativas == 1


def test_no_teto_de_tentativas_o_item_e_estacionado_e_nao_se_perde(diario: Diario) -> None:
    por("veneno")
    for _ in range(TENTATIVAS_MAXIMAS + 2):
        Lote.objects.update(disponivel_em=timezone.now() - timedelta(seconds=1))
        balanco = caixa(diario).esvaziar()
    parado = Lote.objects.get()
    assert (parado.tentativas, balanco.estacionados) == (TENTATIVAS_MAXIMAS, 0)
    assert parado.estacionado_em is not None and "veneno" in parado.falha


def test_estacionado_reexecutado_volta_a_fila(diario: Diario) -> None:
    (id_,) = por("veneno")
    Lote.objects.update(estacionado_em=timezone.now(), tentativas=TENTATIVAS_MAXIMAS)
    (pendente,) = por("outro")
    a_caixa = caixa(diario)
    assert a_caixa.reexecutar([id_, pendente, 10**9]) == 1
    Lote.objects.filter(pk=id_).update(conteudo=b"consertado")
    a_caixa.esvaziar()
    assert sorted(Diario.anotado()) == ["consertado", "outro"]
    assert not Lote.objects.exists()


def test_estacionado_nao_conta_na_fila(diario: Diario) -> None:
    por("a", "b")
    Lote.objects.filter(conteudo=b"a").update(estacionado_em=timezone.now())
    assert medir(caixa(diario), limite=10).profundidade == 1


def test_falha_do_banco_nao_e_culpa_do_item(diario: Diario) -> None:
    def cair(itens: Sequence[tuple[Any, ...]]) -> list[Any]:
        raise OperationalError("conexão perdida")

    por("a")
    with pytest.raises(OperationalError):
        caixa(cair).esvaziar()
    assert Lote.objects.get().tentativas == 0


def test_consulta_cancelada_por_tempo_e_veneno_do_item_e_nao_culpa_do_banco(diario: Diario) -> None:
    class Cancelada(Exception):
        sqlstate = "57014"

    def aplicar(itens: Sequence[tuple[Any, ...]]) -> list[str]:
        if any(b"lento" in item[2] for item in itens):
            raise OperationalError("canceling statement due to statement timeout") from Cancelada()
        return diario(itens)

    por("a", "lento", "b")
    balanco = caixa(aplicar).esvaziar()
    assert (balanco.aplicados, balanco.adiados) == (2, 1)
    assert Diario.anotado() == ["a", "b"]


def test_falha_guardada_e_registrada_nao_traz_o_conteudo(
    diario: Diario, caplog: pytest.LogCaptureFixture
) -> None:
    def aplicar(itens: Sequence[tuple[Any, ...]]) -> list[str]:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE secreta (id int NOT NULL, texto text) ON COMMIT DROP")
            cursor.execute("INSERT INTO secreta VALUES (NULL, 'CPF 123.456.789-00')")
        return []

    por("x")
    caixa(aplicar).esvaziar()
    falha = Lote.objects.get().falha
    assert falha.startswith("IntegrityError [23502]") and "secreta" in falha
    assert "123.456" not in falha
    assert "123.456" not in caplog.text and "item da caixa falhou" in caplog.text


def test_impasse_e_repetido_ate_passar(diario: Diario) -> None:
    quedas = iter([True, True, False])

    class Impasse(Exception):
        sqlstate = "40P01"

    def aplicar(itens: Sequence[tuple[Any, ...]]) -> list[str]:
        if next(quedas):
            raise OperationalError("deadlock detected") from Impasse()
        return diario(itens)

    por("a")
    assert caixa(aplicar).esvaziar().aplicados == 1
    assert Diario.anotado() == ["a"]


def test_recuo_cresce_ate_o_teto_com_acaso() -> None:
    assert all(2.5 <= recuo_s(1) <= 5 for _ in range(50))
    assert all(RECUO_MAXIMO_S / 2 <= recuo_s(9) <= RECUO_MAXIMO_S for _ in range(50))


def test_teto_fecha_e_reabre_a_porta(diario: Diario) -> None:
    teto = TetoDaPorta(caixa(diario))
    por("a", "b")
    teto.conferir(3)
    teto._medido_em = float("-inf")
    with pytest.raises(PortaFechada):
        teto.conferir(2)
    caixa(diario).esvaziar()
    teto._medido_em = float("-inf")
    teto.conferir(2)


def test_porta_nao_mede_a_cada_requisicao(diario: Diario, django_assert_num_queries: Any) -> None:
    teto = TetoDaPorta(caixa(diario))
    with django_assert_num_queries(1):
        for _ in range(20):
            teto.conferir(10)


def test_idade_e_a_do_item_mais_antigo(diario: Diario) -> None:
    assert idade_s(caixa(diario)) == 0
    por("novo", "velho")
    Lote.objects.filter(conteudo=b"novo").update(recebido_em=timezone.now() - timedelta(seconds=90))
    assert 89 < idade_s(caixa(diario)) < 95


def test_item_em_recuo_nao_faz_o_servidor_parecer_atrasado(diario: Diario) -> None:
    por("falhou")
    Lote.objects.update(
        recebido_em=timezone.now() - timedelta(hours=1), disponivel_em=timezone.now() + timedelta(minutes=5)
    )
    assert idade_s(caixa(diario)) == 0
    assert medir(caixa(diario), limite=10).profundidade == 1


@pytest.mark.django_db(transaction=True)
def test_dois_trabalhadores_ao_mesmo_tempo_nunca_pegam_o_mesmo_item() -> None:
    quantos = ITENS_NO_COMECO * 4
    aplicados: list[str] = []
    os_dois_dentro = threading.Barrier(2, timeout=10)
    primeira_vez = threading.local()

    def aplicar(itens: Sequence[tuple[Any, ...]]) -> list[Any]:
        if not hasattr(primeira_vez, "passou"):
            primeira_vez.passou = True
            os_dois_dentro.wait()  # levanta se o outro não conseguiu itens para si
        aplicados.extend(item[2].decode() for item in itens)
        return []

    def trabalhar() -> None:
        try:
            caixa(aplicar).esvaziar()
        finally:
            connection.close()

    por(*[str(n) for n in range(quantos)])
    trabalhadores = [threading.Thread(target=trabalhar) for _ in range(2)]
    for trabalhador in trabalhadores:
        trabalhador.start()
    for trabalhador in trabalhadores:
        trabalhador.join(30)
    assert sorted(aplicados, key=int) == [str(n) for n in range(quantos)]
    assert not Lote.objects.exists()


@pytest.mark.django_db
def test_despertador_publica_uma_vez_ate_o_worker_baixar_a_bandeira() -> None:
    publicou = threading.Semaphore(0)
    publicadas: list[int] = []

    def publicar() -> None:
        publicadas.append(1)
        publicou.release()

    despertador = Despertador("teste", publicar)
    despertador.acordar()
    assert publicou.acquire(timeout=5)
    for _ in range(50):
        despertador.acordar()
    assert not publicou.acquire(timeout=0.2)
    despertador.baixar()
    despertador.acordar()
    assert publicou.acquire(timeout=5)
    assert len(publicadas) == 2
    redis.Redis.from_url(settings.REDIS_URL).delete("lastro:acordada:teste")


def test_despertador_sem_valkey_nao_segura_quem_acorda(settings: Any) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    despertador = Despertador("teste", lambda: pytest.fail("não devia publicar"))
    despertador.acordar()
    despertador.baixar()


def test_respiro_so_depois_de_levar_tudo_o_que_havia(diario: Diario, monkeypatch: pytest.MonkeyPatch) -> None:
    dormidas: list[float] = []

    def dormir(espera_s: float) -> None:
        dormidas.append(espera_s)
        if len(dormidas) == 1:
            por("chegou no respiro")

    monkeypatch.setattr(fila.time, "sleep", dormir)
    por(*[f"{n}" for n in range(4)], peso=40)
    balanco = caixa(diario, peso_por_vez=100).esvaziar(respiro_s=0.1)
    assert [len(transacao) for transacao in diario.transacoes] == [3, 1, 1]
    assert (balanco.aplicados, dormidas) == (5, [0.1, 0.1])
    por("outro")
    caixa(diario).esvaziar()
    assert len(dormidas) == 2, "quem não pede respiro não espera"
