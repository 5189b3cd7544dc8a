"""Cada condição abre uma vez, repete sem exagero e fecha; ninguém ouve em dobro nem fora de hora."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from dlr.models import Excecao, Integracao, RecepcaoPendente, TipoDeExcecao
from ingestao.models import Aplicativo, AvisoFranquia, Dispositivo, Erro, Lote, RelatoDeDescarte, Uso
from painel.avisos import atos, rodada
from painel.models import Aviso, DestinoDeAviso, EntregaDeAviso, LimiarDeAviso
from tests.painel.avisos.conftest import AGORA

pytestmark = pytest.mark.django_db
Avisar = Callable[..., int]


def atrasar(minutos: float, *, lotes: int = 1) -> None:
    """Lotes que esperam há tantos minutos, contados de `AGORA`."""
    for _ in range(lotes):
        Lote.objects.create(recebido_em=AGORA - timedelta(minutes=minutos))


def assuntos(mailoutbox: list[Any]) -> list[str]:
    return [mensagem.subject for mensagem in mailoutbox]


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


# ---- Franquia e regressão, que também falam com o dono do aplicativo


def gastar(aplicativo: Aplicativo, quantidade: int, *percentuais: int) -> None:
    """O que o processamento gravaria ao cruzar os percentuais (tests/ingestao/eventos/test_processamento)."""
    dia = AGORA.date()
    Uso.objects.update_or_create(aplicativo=aplicativo, dia=dia, defaults={"quantidade_eventos": quantidade})
    for percentual in percentuais:
        AvisoFranquia.objects.create(
            aplicativo=aplicativo,
            periodo=dia.replace(day=1),
            percentual=percentual,
            quantidade=quantidade,
            franquia=aplicativo.franquia or 0,
            criado_em=AGORA,
        )


@pytest.fixture
def com_dono(loja: Aplicativo) -> Aplicativo:
    loja.franquia, loja.emails_de_aviso = 10, "dona@exemplo.com.br, ti@exemplo.com.br"
    loja.save()
    return loja


def test_franquia_avisa_o_dono_uma_vez_por_percentual(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    gastar(com_dono, 8, 80)
    assert [avisar(), avisar(1), avisar(60 * 24)] == [1, 0, 0]
    gastar(com_dono, 10, 100)
    assert [avisar(60 * 8), avisar(60 * 8 + 1)] == [1, 0]
    assert [(m.to, "80%" in m.subject, "100%" in m.subject) for m in mailoutbox] == [
        (["dona@exemplo.com.br", "ti@exemplo.com.br"], True, False),
        (["dona@exemplo.com.br", "ti@exemplo.com.br"], False, True),
    ]
    assert "Gravou 8 eventos de uma franquia de 10." in mailoutbox[0].body
    assert AvisoFranquia.objects.filter(enviado_em=None).count() == 0


def test_franquia_sem_destinatario_fica_no_painel(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    gastar(com_dono, 10, 80, 100)
    assert (avisar(), mailoutbox) == (0, [])
    assert AvisoFranquia.objects.filter(enviado_em=None).count() == 2
    assert Aviso.objects.filter(resolvido_em=None, aplicativo=com_dono).count() == 2


def test_franquia_avisada_antes_de_haver_painel_nao_repete_para_o_dono(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    gastar(com_dono, 8, 80)
    AvisoFranquia.objects.update(enviado_em=AGORA)
    assert avisar() == 1
    assert mailoutbox[0].to == ["plantao@exemplo.com.br"]


def test_quem_e_dono_e_destino_recebe_uma_vez_so(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    DestinoDeAviso.objects.update(emails="TI@exemplo.com.br")
    gastar(com_dono, 8, 80)
    assert avisar() == 2
    assert sorted(m.to for m in mailoutbox) == [["TI@exemplo.com.br"], ["dona@exemplo.com.br"]]


def test_franquia_maior_resolve_e_fim_do_mes_tambem(avisar: Avisar, com_dono: Aplicativo) -> None:
    com_dono.politica = "PARAR_INGESTAO"
    com_dono.save()
    gastar(com_dono, 10, 80, 100)
    avisar()
    assert sorted(Aviso.objects.values_list("valor", "critico")) == [(80.0, False), (100.0, True)]
    Aplicativo.objects.update(franquia=12)
    avisar(1)
    assert Aviso.objects.get(resolvido_em=None).valor == 80.0
    avisar(60 * 25)  # dezembro, e o cruzamento já tem mais de um dia
    assert not Aviso.objects.filter(resolvido_em=None).exists()


def regredir(aplicativo: Aplicativo, n: int, *, minutos: float = 0, titulo: str = "TypeError: x") -> Erro:
    quando = AGORA + timedelta(minutes=minutos)
    return Erro.objects.create(
        id=f"00000000-0000-0000-0000-{n:012}",
        aplicativo=aplicativo,
        impressao=str(n),
        versao=1,
        tipo="ERRO_JS",
        titulo=titulo,
        quantidade=2,
        primeira_ocorrencia_em=AGORA - timedelta(days=2),
        ultima_ocorrencia_em=quando,
        regressoes=1,
        regrediu_em=quando,
    )


def test_regressoes_de_um_aplicativo_sao_um_aviso_e_a_seguinte_e_novidade(
    avisar: Avisar, com_dono: Aplicativo, mailoutbox: list[Any]
) -> None:
    for n in range(3):
        regredir(com_dono, n)
    assert [avisar(), avisar(1)] == [1, 0]
    regredir(com_dono, 9, minutos=2)
    assert [avisar(2), avisar(15), avisar(16)] == [0, 1, 0]
    assert assuntos(mailoutbox) == [
        "[Lastro] Loja: voltaram 3 erros resolvidos",
        "[Lastro] Novidade: Loja: voltaram 4 erros resolvidos",
    ]
    assert not Erro.objects.filter(regressao_avisada_em=None).exists()


def test_erro_triado_fecha_o_aviso_e_voltar_a_regredir_abre_outro(
    avisar: Avisar, com_dono: Aplicativo
) -> None:
    erro = regredir(com_dono, 1)
    avisar()
    Erro.objects.update(estado="ignorado")
    avisar(1)
    assert Aviso.objects.get().resolvido_em is not None
    Erro.objects.update(estado="aberto", regressoes=2, regrediu_em=AGORA + timedelta(minutes=2))
    assert avisar(2) == 1
    erro.refresh_from_db()
    assert (Aviso.objects.count(), erro.regressao_avisada_em) == (2, AGORA + timedelta(minutes=2))


def test_destino_de_um_aplicativo_so_ouve_o_dele(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    outro = Aplicativo.objects.create(nome="Blog", dominios=["blog.com.br"])
    DestinoDeAviso.objects.update(aplicativo=outro)
    regredir(com_dono, 1)
    regredir(outro, 2)
    atrasar(10)
    avisar()
    assert [m.subject for m in mailoutbox if m.to == ["plantao@exemplo.com.br"]] == [
        "[Lastro] Blog: voltou um erro resolvido"
    ]


# ---- Silêncio, reconhecimento e corridas


def test_horas_de_silencio_seguram_e_contam_o_aviso_como_esta_ao_sair(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00", fuso="America/Sao_Paulo")
    regredir(com_dono, 1)
    assert avisar() == 0
    regredir(com_dono, 2, minutos=30)
    assert [avisar(31), avisar(59), avisar(60), avisar(61), avisar(80)] == [0, 0, 1, 0, 0]
    assert assuntos(mailoutbox) == ["[Lastro] Loja: voltaram 2 erros resolvidos"]


def test_critico_fura_o_silencio_so_quando_o_destino_deixa(avisar: Avisar, correio: DestinoDeAviso) -> None:
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00")
    calado = DestinoDeAviso.objects.create(
        nome="Gerência",
        emails="g@exemplo.com.br",
        silencio_de="11:00",
        silencio_ate="13:00",
        critico_fura=False,
    )
    atrasar(10)
    assert [avisar(), avisar(60)] == [1, 1]
    assert EntregaDeAviso.objects.get(destino=calado).encerrada_em == AGORA + timedelta(minutes=60)


def test_o_que_acaba_durante_o_silencio_nao_acorda_ninguem(
    avisar: Avisar, com_dono: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(emails_de_aviso="")
    DestinoDeAviso.objects.update(silencio_de="11:00", silencio_ate="13:00")
    regredir(com_dono, 1)
    avisar()
    Erro.objects.update(estado="resolvido")
    assert [avisar(1), avisar(61)] == [0, 0]
    assert mailoutbox == []
    entrega = EntregaDeAviso.objects.get()
    assert (entrega.situacao, entrega.encerramento) == ("dispensada", rodada.ACABOU_ANTES)


def test_silenciado_cala_e_ao_fim_conta_a_novidade(
    avisar: Avisar, correio: DestinoDeAviso, django_user_model: Any
) -> None:
    ana = django_user_model.objects.create_user("ana")
    Lote.objects.create(estacionado_em=AGORA)
    assert avisar() == 1
    aviso = Aviso.objects.get()
    assert atos.silenciar(aviso.pk, ana, AGORA + timedelta(minutes=1), por=timedelta(hours=12))
    Lote.objects.create(estacionado_em=AGORA)
    assert [avisar(60), avisar(60 * 8), avisar(60 * 12 + 1)] == [0, 0, 1]
    assert list(aviso.atos.values_list("autor__username", "ato")) == [("ana", "silenciou")]


def test_reconhecido_nao_repete_mas_avisa_novidade_e_fim(avisar: Avisar, correio: DestinoDeAviso) -> None:
    ana = User.objects.create_user("ana")
    Lote.objects.create(estacionado_em=AGORA)
    avisar()
    assert atos.reconhecer(Aviso.objects.get().pk, ana, AGORA)
    assert avisar(60 * 7) == 0
    Lote.objects.create(estacionado_em=AGORA)
    assert avisar(60 * 7 + 1) == 1
    Lote.objects.all().delete()
    assert avisar(60 * 7 + 2) == 1
    assert not atos.reconhecer(Aviso.objects.get().pk, ana, AGORA)


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
