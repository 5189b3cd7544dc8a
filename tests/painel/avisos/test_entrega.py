"""A fila de saída: assinada, insistente com recuo, sem dobrar, e repetindo quando a queda vem no meio."""

import base64
import hashlib
import hmac
import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as ajustes
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection

from ingestao.models import Aplicativo, Lote
from painel.avisos import atos, entrega, rodada
from painel.avisos.assinatura import gerar_segredo
from painel.avisos.regras import TENTATIVAS_MAXIMAS
from painel.avisos.webhook import Resultado
from painel.models import Aviso, Canal, DestinoDeAviso, EntregaDeAviso, TentativaDeEntrega
from tests.painel.avisos.conftest import AGORA, Avisar, Receptor
from tests.painel.avisos.mundo import atrasar, regredir

pytestmark = pytest.mark.django_db


def test_webhook_chega_assinado_e_com_corpo_estavel(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    atrasar(10)
    assert avisar() == 1
    (recebido,) = receptor.recebidos
    saida, aviso = EntregaDeAviso.objects.get(), Aviso.objects.get()
    assert recebido.json == {
        "alvo": "lotes",
        "aberto_em": "2026-11-30T15:00:00+00:00",
        "aviso": str(aviso.pk),
        "critico": True,
        "enfileirado_em": "2026-11-30T15:00:00+00:00",
        "entrega": str(saida.pk),
        "itens": [],
        "motivo": "abriu",
        "painel": None,
        "qtd_itens": 0,
        "resolvido_em": None,
        "tipo": "fila",
        "titulo": "A caixa de lotes está atrasada: o mais antigo espera há 600 s",
        "valor": 600.0,
        "versao": 1,
    }
    assert recebido.cabecalhos["content-type"] == "application/json"
    assert recebido.cabecalhos["webhook-id"] == str(saida.pk)
    # A conta de quem recebe, feita de novo aqui, a partir da especificação.
    chave = base64.b64decode(gancho.segredo.removeprefix("whsec_"))  # type: ignore[attr-defined]
    instante = recebido.cabecalhos["webhook-timestamp"]
    assinado = f"{saida.pk}.{instante}.".encode() + recebido.corpo
    esperada = base64.b64encode(hmac.new(chave, assinado, hashlib.sha256).digest()).decode()
    assert recebido.cabecalhos["webhook-signature"] == f"v1,{esperada}"
    assert gancho.segredo not in DestinoDeAviso.objects.get().segredo_cifrado  # type: ignore[attr-defined]


def test_o_exemplo_da_documentacao_confere_a_assinatura(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    documentacao = (ajustes.BASE_DIR / "docs/avisos.md").read_text()
    exemplo: dict[str, Any] = {}
    exec(documentacao.split("```python")[1].split("```")[0], exemplo)
    atrasar(10)
    avisar()
    (recebido,) = receptor.recebidos
    segredo = gancho.segredo  # type: ignore[attr-defined]
    assert exemplo["conferir"](segredo, recebido.cabecalhos, recebido.corpo)
    assert not exemplo["conferir"](segredo, recebido.cabecalhos, recebido.corpo + b" ")
    assert not exemplo["conferir"](gerar_segredo(), recebido.cabecalhos, recebido.corpo)
    velho = recebido.cabecalhos | {"webhook-timestamp": "1700000000"}
    assert not exemplo["conferir"](segredo, velho, recebido.corpo)


def test_servidor_que_falha_e_volta_recebe_o_mesmo_corpo_com_recuo(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    receptor.respostas += [(500, {}, b"caiu"), (503, {}, b""), (204, {}, b"")]
    atrasar(10)
    assert [avisar(minutos) for minutos in (0, 0.4, 0.5, 1.4, 1.5, 2)] == [0, 0, 0, 0, 1, 0]
    assert len({recebido.corpo for recebido in receptor.recebidos}) == 1
    assert len({recebido.cabecalhos["webhook-id"] for recebido in receptor.recebidos}) == 1
    tentativas = TentativaDeEntrega.objects.values_list("sucesso", "status", "resposta")
    assert list(tentativas) == [(False, 500, "caiu"), (False, 503, ""), (True, 204, "")]
    assert EntregaDeAviso.objects.get().situacao == "entregue"


def test_destino_fora_do_ar_tem_teto_e_o_desfecho_fica_visivel(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    receptor.respostas += [(500, {}, b"")] * TENTATIVAS_MAXIMAS
    Lote.objects.create(estacionado_em=AGORA)
    DestinoDeAviso.objects.update(repetir_apos_h=168)
    for hora in range(TENTATIVAS_MAXIMAS + 2):
        avisar(60 * hora)
    saida = EntregaDeAviso.objects.get()
    assert (saida.situacao, saida.tentativas, saida.encerramento) == ("desistida", 12, "Respondeu 500.")
    assert len(receptor.recebidos) == TENTATIVAS_MAXIMAS
    assert atos.reenviar(saida.pk)
    assert entrega.enviar_agora(saida.pk, AGORA) is not None
    assert EntregaDeAviso.objects.get().situacao == "entregue"
    assert not atos.reenviar(saida.pk)


def test_destino_que_falha_nao_segura_os_outros(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    bom = DestinoDeAviso.objects.create(
        nome="Outra", canal=Canal.WEBHOOK, url=receptor.url + "/bom", segredo_cifrado=gancho.segredo_cifrado
    )
    DestinoDeAviso.objects.filter(pk=gancho.pk).update(url="http://127.0.0.1:1/")
    atrasar(10)
    Lote.objects.create(estacionado_em=AGORA)
    assert avisar() == 2
    assert {recebido.caminho for recebido in receptor.recebidos} == {"/gancho/bom"}
    ruins = EntregaDeAviso.objects.filter(destino=gancho)
    assert sorted(ruins.values_list("tentativas", flat=True)) == [0, 1]
    assert not ruins.filter(situacao="entregue").exists()
    assert EntregaDeAviso.objects.filter(destino=bom, situacao="entregue").count() == 2


def test_segredo_de_outra_chave_e_uma_falha_que_diz_o_que_fazer(
    avisar: Avisar, gancho: DestinoDeAviso
) -> None:
    DestinoDeAviso.objects.update(segredo_cifrado="gAAAAABestragado")
    atrasar(10)
    assert avisar() == 0
    assert "cadastre-o de novo" in TentativaDeEntrega.objects.get().erro


def test_url_que_passou_a_apontar_para_dentro_e_recusada_ao_mandar(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor, settings: Any
) -> None:
    settings.WEBHOOK_LOCAL = False
    DestinoDeAviso.objects.update(url="http://localhost/")
    atrasar(10)
    assert (avisar(), receptor.recebidos) == (0, [])
    assert "não é público" in TentativaDeEntrega.objects.get().erro


def test_email_que_falha_sai_na_proxima_vez(
    avisar: Avisar, correio: DestinoDeAviso, mailoutbox: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    atrasar(10)
    with monkeypatch.context() as fora:
        fora.setattr(EmailBackend, "send_messages", lambda *a: (_ for _ in ()).throw(OSError("recusado")))
        assert avisar() == 0
    assert [avisar(0.4), avisar(0.5)] == [0, 1]
    assert len(mailoutbox) == 1
    assert mailoutbox[0].extra_headers["Message-ID"] == f"<{EntregaDeAviso.objects.get().pk}@lastro>"
    assert TentativaDeEntrega.objects.order_by("id").first().erro == "OSError: recusado"  # type: ignore[union-attr]


def test_conteudo_hostil_nao_injeta_cabecalhos_nem_controles(
    avisar: Avisar, loja: Aplicativo, correio: DestinoDeAviso, mailoutbox: list[Any]
) -> None:
    Aplicativo.objects.update(nome="Loja\r\nBcc: mal@x.com\x1b[31m")
    regredir(loja, 1, titulo="<script>alert(1)</script>\r\n.\r\nQUIT \x1b[31m\u202egpj.exe")
    avisar()
    (mensagem,) = mailoutbox
    assert mensagem.subject == "[Lastro] Loja Bcc: mal@x.com [31m: voltou um erro resolvido"
    assert "“<script>alert(1)</script> . QUIT [31m gpj.exe” voltou" in mensagem.body
    assert not any((ord(c) < 32 and c != "\n") or c in "\x7f\u202e" for c in mensagem.body)
    assert mensagem.message()["Bcc"] is None
    assert b"\nBcc" not in mensagem.message().as_bytes()


def test_queda_entre_mandar_e_marcar_repete_com_o_mesmo_id(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor, monkeypatch: pytest.MonkeyPatch
) -> None:
    atrasar(10)

    class Queda(BaseException):
        """O processo morre: nada depois daqui roda."""

    with monkeypatch.context() as fora:
        fora.setattr(TentativaDeEntrega.objects, "create", lambda **k: (_ for _ in ()).throw(Queda()))
        with pytest.raises(Queda):
            avisar()
    assert EntregaDeAviso.objects.get().situacao == "pendente"
    assert avisar(1) == 1
    ids = [recebido.cabecalhos["webhook-id"] for recebido in receptor.recebidos]
    assert (len(ids), len(set(ids))) == (2, 1)
    assert receptor.recebidos[0].json["entrega"] == ids[0]


@pytest.mark.django_db(transaction=True)
def test_dois_workers_ao_mesmo_tempo_mandam_cada_uma_uma_vez(
    gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    for n in range(12):
        atos.enfileirar_teste(gancho, AGORA + timedelta(seconds=n))
    largada = threading.Barrier(3)
    certas: list[int] = []

    def trabalhar() -> None:
        largada.wait(20)
        certas.append(entrega.enviar_pendentes(AGORA + timedelta(minutes=1)))
        connection.close()

    workers = [threading.Thread(target=trabalhar) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert sum(certas) == len(receptor.recebidos) == 12
    assert len({recebido.cabecalhos["webhook-id"] for recebido in receptor.recebidos}) == 12
    assert not EntregaDeAviso.objects.exclude(situacao="entregue").exists()


@pytest.mark.django_db(transaction=True)
def test_o_que_esta_saindo_quando_a_condicao_acaba_conta_como_ouvido(
    gancho: DestinoDeAviso, monkeypatch: pytest.MonkeyPatch
) -> None:
    Lote.objects.create(estacionado_em=AGORA)
    rodada.rodar(AGORA)
    no_meio, pode_responder = threading.Event(), threading.Event()

    def demorar(*args: Any, **kwargs: Any) -> Resultado:
        no_meio.set()
        pode_responder.wait(20)
        return Resultado(sucesso=True, status=200)

    monkeypatch.setattr(entrega.webhook, "postar", demorar)

    def mandar() -> None:
        entrega.enviar_pendentes(AGORA)
        connection.close()

    envio = threading.Thread(target=mandar)
    envio.start()
    assert no_meio.wait(20)
    Lote.objects.all().delete()
    rodada.rodar(AGORA + timedelta(minutes=1))
    pode_responder.set()
    envio.join()
    assert list(EntregaDeAviso.objects.order_by("criada_em").values_list("motivo", "situacao")) == [
        ("abriu", "entregue"),
        ("resolveu", "pendente"),
    ]


def test_teste_sai_fora_do_silencio_e_nao_insiste(gancho: DestinoDeAviso, receptor: Receptor) -> None:
    DestinoDeAviso.objects.update(silencio_de="00:00", silencio_ate="23:59", critico_fura=False)
    gancho.refresh_from_db()
    receptor.respostas.append((404, {}, b"errado"))
    saida = atos.enfileirar_teste(gancho, AGORA)
    feita = entrega.enviar_agora(saida.pk, AGORA)
    assert feita is not None
    assert (feita.situacao, feita.encerramento) == ("desistida", "Respondeu 404.")
    assert receptor.recebidos[0].json["tipo"] == "teste"
    assert not atos.reenviar(saida.pk)


def test_destino_desligado_dispensa_o_que_esperava(
    avisar: Avisar, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    atrasar(10)
    rodada.rodar(AGORA)
    DestinoDeAviso.objects.update(ativo=False)
    assert (entrega.enviar_pendentes(AGORA), receptor.recebidos) == (0, [])
    assert EntregaDeAviso.objects.get().situacao == "dispensada"
