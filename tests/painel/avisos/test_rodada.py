"""Cada condição abre uma vez, repete sem exagero e fecha; ninguém ouve em dobro nem fora de hora."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from dlr.models import Excecao, Integracao, RecepcaoPendente, TipoDeExcecao
from ingestao.models import Dispositivo, Lote, RelatoDeDescarte
from painel.avisos import rodada
from painel.models import Aviso, DestinoDeAviso, EntregaDeAviso, LimiarDeAviso
from tests.painel.avisos.conftest import AGORA, Avisar
from tests.painel.avisos.mundo import assuntos, atrasar

pytestmark = pytest.mark.django_db


def test_fila_atrasada_abre_repete_e_fecha(
    avisar: Avisar, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    atrasar(10)
    assert [avisar(minuto) for minuto in (0, 1, 2, 359)] == [1, 0, 0, 0]
    assert avisar(360) == 1
    Lote.objects.all().delete()
    assert [avisar(361), avisar(364), avisar(365)] == [0, 0, 1]
    assert assuntos(mailoutbox) == [
        "[Lastro] A caixa de lotes está atrasada: o mais antigo espera há 600 s",
        "[Lastro] Ainda: A caixa de lotes está atrasada: o mais antigo espera há 22200 s",
        "[Lastro] Resolvido: A caixa de lotes está atrasada: o mais antigo espera há 22200 s",
    ]
    aviso = Aviso.objects.get()
    assert (aviso.critico, aviso.resolvido_em) == (True, AGORA + timedelta(minutes=365))


def test_condicao_que_volta_depois_de_resolvida_e_outro_aviso(
    avisar: Avisar, correio: DestinoDeAviso
) -> None:
    atrasar(10)
    avisar()
    Lote.objects.all().delete()
    avisar(10)
    atrasar(10)
    assert avisar(20) == 1
    assert (Aviso.objects.count(), Aviso.objects.filter(resolvido_em=None).count()) == (2, 1)


def test_banco_recusa_a_segunda_linha_aberta_da_mesma_condicao(avisar: Avisar) -> None:
    from django.db import IntegrityError

    atrasar(10)
    avisar()
    aviso = Aviso.objects.get()
    aviso.pk = None
    with pytest.raises(IntegrityError, match="aviso_aberto_unico"):
        aviso.save(force_insert=True)


def test_limiar_cadastrado_vale_e_zero_desliga(avisar: Avisar) -> None:
    atrasar(10)
    limiar = LimiarDeAviso.objects.create(tipo="fila", valor=601)
    avisar()
    assert not Aviso.objects.exists()
    limiar.valor = 0
    limiar.save()
    avisar(1)
    assert not Aviso.objects.exists()
    LimiarDeAviso.objects.update(valor=600)
    avisar(2)
    assert Aviso.objects.get().valor == 720.0


def test_estacionados_de_cada_caixa_sao_um_aviso_e_um_novo_e_novidade(
    avisar: Avisar, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Lote.objects.create(estacionado_em=AGORA, falha="DataError: segredo do cliente")
    RecepcaoPendente.objects.create(recepcao_id=1, estacionado_em=AGORA)
    assert avisar() == 2
    Lote.objects.create(estacionado_em=AGORA)
    assert [avisar(1), avisar(15)] == [0, 1]
    assert mailoutbox[-1].subject == "[Lastro] Novidade: A caixa de lotes tem 2 itens estacionados"
    assert not any("segredo" in mensagem.body for mensagem in mailoutbox)
    Lote.objects.all().delete()
    assert avisar(16) == 1


@pytest.fixture
def integracao(db: None) -> Integracao:
    return Integracao.objects.create(slug="operadora", formato="padrao", token_resumo="x")


def abrir_excecoes(integracao: Integracao, tipo: TipoDeExcecao, quantas: int) -> None:
    inicio = Excecao.objects.count()
    Excecao.objects.bulk_create(
        Excecao(integracao=integracao, tipo=tipo, alvo=f"a{inicio + n}", aberta_em=AGORA)
        for n in range(quantas)
    )


def test_excecoes_avisam_por_integracao_e_tipo_acima_do_limiar(
    avisar: Avisar, integracao: Integracao
) -> None:
    outra = Integracao.objects.create(slug="outra", formato="padrao", token_resumo="y")
    LimiarDeAviso.objects.create(tipo="excecoes", integracao=outra, valor=2)
    LimiarDeAviso.objects.create(tipo="excecoes", excecao="conflito_final", valor=0)
    abrir_excecoes(integracao, TipoDeExcecao.SEM_CORRELACAO, 10)
    abrir_excecoes(integracao, TipoDeExcecao.RECIBO_PARCIAL, 9)
    abrir_excecoes(integracao, TipoDeExcecao.CONFLITO_FINAL, 30)
    abrir_excecoes(outra, TipoDeExcecao.RECIBO_PARCIAL, 2)
    avisar()
    assert sorted(Aviso.objects.values_list("titulo", flat=True)) == [
        "operadora: 10 × Sem correlação",
        "outra: 2 × Recibo parcial",
    ]
    Excecao.objects.filter(integracao=outra).update(situacao="resolvida")
    avisar(4)
    assert Aviso.objects.filter(resolvido_em=None).count() == 2
    avisar(9)
    assert Aviso.objects.get(resolvido_em=None).titulo == "operadora: 10 × Sem correlação"


def calar(nome: str, minutos: float, **campos: Any) -> Dispositivo:
    return Dispositivo.objects.create(
        nome=nome, token_resumo=nome, ultimo_contato_em=AGORA - timedelta(minutes=minutos), **campos
    )


def test_rede_que_cai_e_uma_mensagem_e_aparelho_a_mais_e_novidade(
    avisar: Avisar, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    for n in range(30):
        calar(f"câmera {n:02}", 16)
    calar("fora de uso", 999, deletado=True)
    calar("sem token", 999, revogado_em=AGORA)
    calar("paciente", 16, silencioso_apos_s=3600)
    ultima = calar("portaria", 0)
    assert [avisar(), avisar(1)] == [1, 0]
    assert mailoutbox[0].subject == "[Lastro] 30 dispositivos em silêncio"
    assert (mailoutbox[0].body.count("- câmera"), "e mais 10." in mailoutbox[0].body) == (20, True)
    assert avisar(16) == 1
    assert "- portaria: sem contato desde 30/11/2026 12:00" in mailoutbox[1].body
    Dispositivo.objects.exclude(pk=ultima.pk).update(ultimo_contato_em=AGORA + timedelta(minutes=16))
    avisar(17)
    assert Aviso.objects.get().titulo == "1 dispositivo em silêncio"


def test_descartes_da_ultima_hora_por_aparelho_e_motivo(avisar: Avisar) -> None:
    camera = calar("câmera", 0)
    for n, (ha_min, descartados) in enumerate(
        [(5, {"cheia": 3}), (6, {"cheia": 1, "teto": 2}), (61, {"velho": 9})]
    ):
        RelatoDeDescarte.objects.create(
            dispositivo=camera,
            relato=str(n),
            descartados=descartados,
            recebido_em=AGORA - timedelta(minutes=ha_min),
        )
    avisar()
    aviso = Aviso.objects.get()
    assert aviso.titulo == "6 capturas descartadas na última hora"
    assert [item["texto"] for item in aviso.itens] == ["câmera: 4 por cheia", "câmera: 2 por teto"]


def test_destino_novo_ouve_o_que_ja_estava_aberto_e_o_desligado_nada(
    avisar: Avisar, correio: DestinoDeAviso
) -> None:
    DestinoDeAviso.objects.update(ativo=False)
    atrasar(10)
    assert avisar() == 0
    DestinoDeAviso.objects.create(nome="Novo", emails="novo@exemplo.com.br")
    DestinoDeAviso.objects.create(nome="Outro", emails="outro@exemplo.com.br", tipos=["franquia"])
    assert [avisar(1), avisar(2)] == [1, 0]


@pytest.mark.django_db(transaction=True)
def test_rodada_ao_mesmo_tempo_que_outra_nao_faz_nada(correio: DestinoDeAviso) -> None:
    import threading

    atrasar(10)
    com_a_trava, pode_soltar = threading.Event(), threading.Event()

    def segurar() -> None:
        from django.db import transaction

        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [rodada.TRAVA_DA_RODADA])
            com_a_trava.set()
            pode_soltar.wait(20)
        connection.close()

    outra = threading.Thread(target=segurar)
    outra.start()
    assert com_a_trava.wait(20)
    assert rodada.rodar(AGORA) is None
    pode_soltar.set()
    outra.join()
    assert not Aviso.objects.exists()
    feito = rodada.rodar(AGORA)
    assert feito is not None
    assert (feito.abertos, EntregaDeAviso.objects.count()) == (1, 1)
