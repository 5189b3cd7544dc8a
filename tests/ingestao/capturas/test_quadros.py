"""O envio de um quadro: retomável, com um vencedor quando há dois, conferido pelo SHA-256, e com trilha."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

from ingestao.capturas import pedidos
from ingestao.capturas.deposito import QuadrosEmDisco
from ingestao.models import Ato, AtoDeCaptura, Captura, PedacoDeQuadro, Pedido, SituacaoDoPedido
from tests.ingestao.capturas.aparelho import Aparelho, evento, resumir

pytestmark = pytest.mark.django_db

QUADRO = os.urandom(3_000)


@pytest.fixture
def pedido(contestar: Callable[[bytes], Pedido]) -> Pedido:
    return contestar(QUADRO)


def atos(pedido: Pedido) -> list[str]:
    return list(AtoDeCaptura.objects.filter(pedido=pedido).order_by("id").values_list("ato", flat=True))


def codigo(resposta: Any) -> tuple[int, str]:
    return resposta.status_code, resposta.json()["codigo"]


def test_quadro_sobe_aos_pedacos_e_fica_no_deposito(
    aparelho: Aparelho, pedido: Pedido, deposito: Path
) -> None:
    vista = aparelho.ver_envio(pedido.pk)
    assert (vista["Upload-Offset"], vista["Upload-Length"], vista["Tus-Resumable"]) == ("0", "3000", "1.0.0")
    assert vista["Cache-Control"] == "no-store"

    for inicio in range(0, 3_000, 1_000):
        assert aparelho.ver_envio(pedido.pk)["Upload-Offset"] == str(inicio)
        resposta = aparelho.enviar_pedaco(pedido.pk, inicio, QUADRO[inicio : inicio + 1_000])
        assert (resposta.status_code, resposta["Upload-Offset"]) == (204, str(inicio + 1_000))

    pedido.refresh_from_db()
    (arquivo,) = [caminho for caminho in deposito.rglob("*") if caminho.is_file()]
    assert (pedido.situacao, pedido.recebidos_bytes) == (SituacaoDoPedido.ATENDIDO, 3_000)
    assert str(arquivo.relative_to(deposito)) == pedido.arquivo == f"{pedido.pk.hex[:2]}/{pedido.pk}.jpg"
    assert arquivo.read_bytes() == QUADRO
    assert arquivo.stat().st_mode & 0o777 == 0o600
    assert pedidos.abrir_quadro(pedido).read() == QUADRO
    assert not PedacoDeQuadro.objects.exists()
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.QUADRO_RECEBIDO]
    assert AtoDeCaptura.objects.last().detalhes["sha256"] == resumir(QUADRO)  # type: ignore[union-attr]


def test_ultimo_ack_perdido_o_aparelho_fica_sabendo_que_acabou(aparelho: Aparelho, pedido: Pedido) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO)
    vista = aparelho.ver_envio(pedido.pk)
    assert (vista.status_code, vista["Upload-Offset"]) == (200, "3000")
    repetido = aparelho.enviar_pedaco(pedido.pk, 0, QUADRO)
    assert (*codigo(repetido), repetido["Upload-Offset"]) == (409, "offset_errado", "3000")
    assert aparelho.enviar_pedaco(pedido.pk, 3_000, b"").status_code == 204
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.QUADRO_RECEBIDO]


def test_offset_errado_diz_onde_continuar_e_nao_grava(aparelho: Aparelho, pedido: Pedido) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:500])
    for inicio in (0, 499, 501, 10**9):
        resposta = aparelho.enviar_pedaco(pedido.pk, inicio, QUADRO[:100])
        assert (*codigo(resposta), resposta["Upload-Offset"]) == (409, "offset_errado", "500")
    assert PedacoDeQuadro.objects.count() == 1


def test_o_que_passa_do_tamanho_e_413_e_nao_grava(aparelho: Aparelho, pedido: Pedido) -> None:
    assert codigo(aparelho.enviar_pedaco(pedido.pk, 0, QUADRO + b"x")) == (413, "quadro_grande")
    assert aparelho.ver_envio(pedido.pk)["Upload-Offset"] == "0"


@pytest.mark.parametrize(
    ("mudancas", "esperado"),
    [
        ({"tipo": "application/octet-stream"}, (415, "tipo_de_conteudo_desconhecido")),
        ({"tus-resumable": "0.2.2"}, (412, "versao_do_tus")),
        ({"upload-offset": "x"}, (400, "campo_invalido")),
        ({"upload-offset": "-1"}, (400, "campo_invalido")),
        ({"upload-offset": "9" * 30}, (400, "campo_invalido")),
        ({"authorization": "Bearer x"}, (401, "token_desconhecido")),
    ],
)
def test_pedaco_fora_do_protocolo(
    aparelho: Aparelho, pedido: Pedido, mudancas: dict[str, str], esperado: tuple[int, str]
) -> None:
    resposta = aparelho.enviar_pedaco(pedido.pk, 0, QUADRO, **mudancas)
    assert codigo(resposta) == esperado
    assert resposta["Tus-Resumable"] == "1.0.0"
    assert not PedacoDeQuadro.objects.exists()


def test_hash_divergente_vai_para_a_trilha_e_o_terceiro_encerra(
    aparelho: Aparelho, pedido: Pedido, deposito: Path
) -> None:
    errado = os.urandom(3_000)
    for vez in (1, 2, 3):
        aparelho.enviar_pedaco(pedido.pk, 0, errado[:1_000])
        resposta = aparelho.enviar_pedaco(pedido.pk, 1_000, errado[1_000:])
        assert codigo(resposta) == (460, "hash_divergente")
        pedido.refresh_from_db()
        assert (pedido.recebidos_bytes, pedido.divergencias) == (0, vez)
        assert not PedacoDeQuadro.objects.exists()
    assert pedido.situacao == SituacaoDoPedido.HASH_DIVERGENTE
    assert codigo(aparelho.enviar_pedaco(pedido.pk, 0, QUADRO)) == (410, "pedido_encerrado")
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, *[Ato.HASH_DIVERGENTE] * 3]
    detalhes = AtoDeCaptura.objects.last().detalhes  # type: ignore[union-attr]
    assert detalhes == {"esperado": resumir(QUADRO), "recebido": resumir(errado), "vez": 3}
    assert not list(deposito.rglob("*.jpg"))


def test_depois_de_divergir_o_certo_ainda_entra(aparelho: Aparelho, pedido: Pedido) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, bytes(3_000))
    assert aparelho.enviar_pedaco(pedido.pk, 0, QUADRO).status_code == 204
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.HASH_DIVERGENTE, Ato.QUADRO_RECEBIDO]


def test_deposito_cheio_e_503_e_o_pedaco_nao_conta(
    aparelho: Aparelho, pedido: Pedido, monkeypatch: pytest.MonkeyPatch
) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:1_000])
    storages["quadros"].location = "/dev/full/x"  # type: ignore[attr-defined]
    monkeypatch.setattr(storages["quadros"], "base_location", "/dev/full/x")
    resposta = aparelho.enviar_pedaco(pedido.pk, 1_000, QUADRO[1_000:])
    assert codigo(resposta) == (503, "deposito_indisponivel")
    assert int(resposta["Retry-After"]) > 0
    assert aparelho.ver_envio(pedido.pk)["Upload-Offset"] == "1000"


def test_arquivo_orfao_de_uma_queda_e_substituido(aparelho: Aparelho, pedido: Pedido, deposito: Path) -> None:
    orfao = deposito / pedido.pk.hex[:2] / f"{pedido.pk}.jpg"
    orfao.parent.mkdir(parents=True)
    orfao.write_bytes(b"o COMMIT nao veio")
    assert aparelho.enviar_pedaco(pedido.pk, 0, QUADRO).status_code == 204
    assert orfao.read_bytes() == QUADRO
    assert isinstance(storages["quadros"], QuadrosEmDisco)


def test_pedido_de_outro_aparelho_nao_existe(
    pedido: Pedido, cadastrar: Callable[[str], Aparelho], aparelho: Aparelho
) -> None:
    outro = cadastrar("Outro")
    assert outro.ver_envio(pedido.pk).status_code == 404
    assert codigo(outro.enviar_pedaco(pedido.pk, 0, QUADRO)) == (404, "pedido_desconhecido")
    assert codigo(outro.declarar_indisponivel(pedido.pk, "expirado")) == (404, "pedido_desconhecido")
    assert codigo(aparelho.enviar_pedaco("nao-e-uuid", 0, QUADRO)) == (404, "pedido_desconhecido")
    assert outro.perguntar().json()["pedidos"] == []


def test_indisponivel_encerra_com_o_motivo_e_pode_repetir(aparelho: Aparelho, pedido: Pedido) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:1_000])
    for _ in range(2):
        resposta = aparelho.declarar_indisponivel(pedido.pk, "despejado_por_espaco")
        assert (resposta.status_code, resposta.json()) == (200, {"situacao": "indisponivel"})
    pedido.refresh_from_db()
    assert (pedido.situacao, pedido.motivo_indisponivel) == ("indisponivel", "despejado_por_espaco")
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.QUADRO_INDISPONIVEL]
    assert aparelho.ver_envio(pedido.pk).status_code == 410
    assert not PedacoDeQuadro.objects.exists()


@pytest.mark.parametrize("motivo", [None, "", "porque sim", 3, ["expirado"], {}])
def test_indisponivel_com_motivo_desconhecido(aparelho: Aparelho, pedido: Pedido, motivo: Any) -> None:
    assert codigo(aparelho.declarar_indisponivel(pedido.pk, motivo)) == (400, "campo_invalido")


def test_options_diz_o_que_se_fala_sem_token() -> None:
    resposta = Client().options("/captura/quadros/qualquer")
    assert (resposta.status_code, resposta["Tus-Version"], resposta["Tus-Resumable"]) == (
        204,
        "1.0.0",
        "1.0.0",
    )
    assert int(resposta["Tus-Max-Size"]) == 64 * 1024 * 1024


def test_pedido_aparece_na_resposta_do_lote_do_pulso_e_da_pergunta(
    aparelho: Aparelho, pedido: Pedido
) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:1_000])
    esperado = {
        "id": str(pedido.pk),
        "id_evento": str(pedido.captura_id),
        "vence_em": pedido.vence_em.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "bytes": 3_000,
        "sha256": resumir(QUADRO),
        "offset": 1_000,
    }
    respostas = [aparelho.postar([evento()]), aparelho.pulsar(), aparelho.perguntar(1)]
    assert [resposta.json()["pedidos"] for resposta in respostas] == [[esperado]] * 3


def test_pedido_vencido_nao_recebe_mais_e_o_relogio_o_encerra(aparelho: Aparelho, pedido: Pedido) -> None:
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO[:1_000])
    Pedido.objects.update(vence_em=timezone.now() - timedelta(seconds=1))
    assert codigo(aparelho.enviar_pedaco(pedido.pk, 1_000, QUADRO[1_000:])) == (410, "pedido_encerrado")
    assert aparelho.perguntar().json()["pedidos"] == []
    assert pedidos.vencer_pedidos(timezone.now()) == 1
    assert pedidos.vencer_pedidos(timezone.now()) == 0
    pedido.refresh_from_db()
    assert pedido.situacao == SituacaoDoPedido.VENCIDO
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.PEDIDO_VENCIDO]
    assert not PedacoDeQuadro.objects.exists()


def test_cancelar_exige_motivo_e_encerra(aparelho: Aparelho, pedido: Pedido, operador: Any) -> None:
    with pytest.raises(pedidos.AtoRecusado) as erro:
        pedidos.cancelar(pedido, "  ", operador)
    assert erro.value.codigo == "motivo_ausente"
    pedidos.cancelar(pedido, "Engano de placa.", operador)
    assert aparelho.ver_envio(pedido.pk).status_code == 410
    with pytest.raises(pedidos.AtoRecusado) as erro:
        pedidos.cancelar(pedido, "De novo.", operador)
    assert erro.value.codigo == "pedido_encerrado"
    assert atos(pedido) == [Ato.PEDIDO_ABERTO, Ato.PEDIDO_CANCELADO]


def test_um_pedido_aberto_por_captura(pedido: Pedido, operador: Any) -> None:
    with pytest.raises(pedidos.AtoRecusado) as erro:
        pedidos.abrir_pedido(pedido.captura, "Outra vez.", operador)
    assert erro.value.codigo == "pedido_ja_aberto"
    pedidos.cancelar(pedido, "Engano.", operador)
    assert pedidos.abrir_pedido(pedido.captura, "Agora sim.", operador).situacao == SituacaoDoPedido.ABERTO


def test_contestar_exige_motivo_quadro_e_captura_de_pe(aparelho: Aparelho, operador: Any) -> None:
    mandado = evento()
    aparelho.postar([mandado])
    captura = Captura.objects.get()
    recusas = []
    for motivo in ("", "Não passei ali."):
        with pytest.raises(pedidos.AtoRecusado) as erro:
            pedidos.abrir_pedido(captura, motivo, operador)
        recusas.append(erro.value.codigo)
    pedidos.excluir_captura(captura, "Duplicada no cadastro.", operador)
    with pytest.raises(pedidos.AtoRecusado) as erro:
        pedidos.abrir_pedido(captura, "Não passei ali.", operador)
    assert [*recusas, erro.value.codigo] == ["motivo_ausente", "sem_quadro", "captura_excluida"]
    assert not Pedido.objects.exists()


def test_excluir_e_logico_com_trilha_e_o_reenvio_continua_confirmado(
    aparelho: Aparelho, operador: Any
) -> None:
    mandado = evento()
    primeira = aparelho.postar([mandado])
    captura = Captura.objects.get()
    for _ in range(2):
        pedidos.excluir_captura(captura, "A pedido do titular.", operador)
    reenvio = aparelho.postar([{**mandado, "tentativa": 2}])
    captura.refresh_from_db()
    assert captura.deletado
    assert reenvio.json()["resultados"] == primeira.json()["resultados"]
    pedidos.restaurar_captura(captura, "Engano.", operador)
    trilha = list(AtoDeCaptura.objects.order_by("id").values_list("ato", "motivo", "autor"))
    assert trilha == [
        (Ato.CAPTURA_EXCLUIDA, "A pedido do titular.", operador.pk),
        (Ato.CAPTURA_RESTAURADA, "Engano.", operador.pk),
    ]


def test_quem_olhou_o_quadro_fica_na_trilha(aparelho: Aparelho, pedido: Pedido, operador: Any) -> None:
    with pytest.raises(pedidos.AtoRecusado) as erro:
        pedidos.abrir_quadro(pedido)
    assert erro.value.codigo == "quadro_ausente"
    aparelho.enviar_pedaco(pedido.pk, 0, QUADRO)
    pedidos.registrar_visualizacao(pedido, operador)
    ultimo = AtoDeCaptura.objects.last()
    assert ultimo is not None and (ultimo.ato, ultimo.autor) == (Ato.QUADRO_VISTO, operador)


@pytest.mark.parametrize(
    "sql", ["UPDATE ingestao_atodecaptura SET motivo = 'x'", "DELETE FROM ingestao_atodecaptura"]
)
def test_a_trilha_nao_se_reescreve(pedido: Pedido, sql: str) -> None:
    with pytest.raises(DatabaseError, match="evidencia"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql)
    assert atos(pedido) == [Ato.PEDIDO_ABERTO]
