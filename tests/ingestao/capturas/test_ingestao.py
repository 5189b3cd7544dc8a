"""POST /captura/ingestao: o que se grava, o que se responde, e o que não muda num reenvio."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from ingestao.capturas.recortes import RECORTE_MAXIMO_BYTES
from ingestao.models import Captura, CapturaRecusada, Dispositivo, RecusaDeCaptura, RelatoDeDescarte
from tests.ingestao.capturas.aparelho import (
    AUSENTE,
    TIPO_MULTIPART,
    Aparelho,
    com_caixa,
    evento,
    jpeg,
    montar_multipart,
    resumir,
)
from tests.ingestao.capturas.conftest import contadores
from tests.ingestao.capturas.test_recortes import com_dimensoes, png

pytestmark = pytest.mark.django_db


def resultados(resposta: Any) -> list[dict[str, Any]]:
    assert resposta.status_code == 200, resposta.content
    return resposta.json()["resultados"]


def resultado_cru(resposta: Any, indice: int = 0) -> bytes:
    """Os bytes do resultado de um evento, como foram pela rede."""
    lista = resposta.content.split(b'"resultados":[', 1)[1].split(b"]", 1)[0]
    return (lista[1:-1].split(b"},{"))[indice]


def test_captura_e_gravada_com_o_recorte_e_o_ack_diz_quando(aparelho: Aparelho) -> None:
    mandado = com_caixa(idade_ms=830)
    resposta = aparelho.postar([mandado], {mandado["id_evento"]: jpeg()})

    (resultado,) = resultados(resposta)
    captura = Captura.objects.get()
    assert list(resultado) == ["id_evento", "situacao", "gravado_em"]
    assert resultado["id_evento"] == mandado["id_evento"] == str(captura.pk)
    assert resultado["gravado_em"] == captura.gravado_em.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    assert (captura.dispositivo_id, bytes(captura.recorte or b"")) == (aparelho.id, jpeg())
    assert (captura.recorte_largura, captura.recorte_altura) == (64, 48)
    assert (captura.recorte_sha256, captura.recorte_bytes) == (resumir(jpeg()), len(jpeg()))
    assert (captura.payload, captura.seq) == (mandado["payload"], mandado["seq"])
    assert (captura.quadro_bytes, captura.caixa_margem, captura.idade_ms) == (412_345, 16, 830)
    assert set(resposta.json()) == {"resultados", "pedidos", "hora_servidor"}
    assert contadores(aparelho) == {"gravadas": 1, "bytes": 1, "razao_ppm": 1}


def test_json_puro_sem_recortes(aparelho: Aparelho) -> None:
    sem = com_caixa(sem_recorte="caixa_invalida")
    (um, outro) = resultados(aparelho.postar([evento(), sem]))
    assert (um["situacao"], outro["situacao"]) == ("gravado", "gravado")
    assert Captura.objects.get(pk=sem["id_evento"]).sem_recorte == "caixa_invalida"
    assert contadores(aparelho)["recortes_ausentes"] == 2


def test_lote_vazio_e_contato(aparelho: Aparelho) -> None:
    assert resultados(aparelho.postar([])) == []
    assert Dispositivo.objects.get().ultimo_contato_em is not None


def test_reenvio_recebe_o_mesmo_ack_byte_a_byte(aparelho: Aparelho) -> None:
    mandado = com_caixa()
    recorte = {mandado["id_evento"]: jpeg()}
    primeira = aparelho.postar([mandado], recorte)
    reenvios = [aparelho.postar([{**mandado, "tentativa": n, "idade_ms": n * 1000}], recorte) for n in (2, 3)]

    assert {resultado_cru(r) for r in reenvios} == {resultado_cru(primeira)}
    captura = Captura.objects.get()
    assert (captura.maior_tentativa, captura.reenvios_link, captura.reenvios_fila) == (3, 2, 0)
    assert captura.idade_ms is None, "o que foi gravado não muda"
    assert contadores(aparelho) == {"gravadas": 1, "bytes": 1, "razao_ppm": 1, "reenvio_link": 2}


def test_reenvio_junto_de_eventos_novos_e_com_lote_diferente(aparelho: Aparelho) -> None:
    velho, novo = evento(), evento()
    primeira = aparelho.postar([velho])
    segunda = aparelho.postar([novo, {**velho, "tentativa": 2}])
    assert resultado_cru(segunda, 1) == resultado_cru(primeira)
    assert Captura.objects.count() == 2


def test_reenvio_que_repete_a_tentativa_e_defeito_de_fila(aparelho: Aparelho) -> None:
    mandado = evento(tentativa=2)
    for _ in range(3):
        aparelho.postar([mandado])
    captura = Captura.objects.get()
    assert (captura.reenvios_link, captura.reenvios_fila) == (0, 2)
    assert contadores(aparelho)["reenvio_fila"] == 2


def test_reenvio_depois_de_informar_a_latencia_e_defeito_de_fila(aparelho: Aparelho) -> None:
    mandado = evento()
    aparelho.postar([mandado])
    aparelho.postar([], latencias=[{"id_evento": mandado["id_evento"], "ms": 812}])
    resposta = aparelho.postar([{**mandado, "tentativa": 2}])
    captura = Captura.objects.get()
    assert resultados(resposta)[0]["situacao"] == "gravado"
    assert (captura.latencia_ms, captura.reenvios_link, captura.reenvios_fila) == (812, 0, 1)


def test_latencia_vale_uma_vez(aparelho: Aparelho, cadastrar: Callable[[str], Aparelho]) -> None:
    mandado = evento()
    aparelho.postar([mandado])
    for ms in (812, 9_999):
        aparelho.pulsar(latencias=[{"id_evento": mandado["id_evento"], "ms": ms}])
    vizinho = cadastrar("Vizinho")
    vizinho.pulsar(latencias=[{"id_evento": mandado["id_evento"], "ms": 1}])
    assert Captura.objects.get().latencia_ms == 812
    assert contadores(aparelho)["latencia_ms"] == 1
    assert contadores(vizinho) == {"latencias_sem_captura": 1}


def test_mesmo_id_com_outro_conteudo_e_conflito_e_nada_se_sobrescreve(aparelho: Aparelho) -> None:
    mandado = com_caixa()
    aparelho.postar([mandado], {mandado["id_evento"]: jpeg()})
    outra_imagem = aparelho.postar([mandado], {mandado["id_evento"]: jpeg(semente=9)})
    outro_payload = aparelho.postar([{**mandado, "payload": {}}], {mandado["id_evento"]: jpeg()})

    for resposta in (outra_imagem, outro_payload):
        (resultado,) = resultados(resposta)
        assert (resultado["situacao"], resultado["codigo"]) == ("conflito", "conteudo_diferente")
        assert "gravado_em" not in resultado
    captura = Captura.objects.get()
    assert (bytes(captura.recorte or b""), captura.payload) == (jpeg(), mandado["payload"])
    recusada = CapturaRecusada.objects.get()
    assert (str(recusada.id_evento), recusada.codigo) == (mandado["id_evento"], "conteudo_diferente")
    assert (recusada.quantidade, recusada.situacao) == (2, "conflito")
    assert recusada.primeira_em < recusada.ultima_em
    assert contadores(aparelho)["conflitos:conteudo_diferente"] == 2


def test_id_de_outro_dispositivo_e_conflito(aparelho: Aparelho, cadastrar: Callable[[str], Aparelho]) -> None:
    mandado = evento()
    aparelho.postar([mandado])
    intruso = cadastrar("Intruso")
    (resultado,) = resultados(intruso.postar([mandado]))
    assert (resultado["situacao"], resultado["codigo"]) == ("conflito", "id_de_outro_dispositivo")
    captura = Captura.objects.get()
    assert (captura.dispositivo_id, captura.reenvios_link + captura.reenvios_fila) == (aparelho.id, 0)
    assert CapturaRecusada.objects.get().dispositivo_id == intruso.id


def test_imagens_identicas_em_eventos_diferentes_sao_duas_linhas(aparelho: Aparelho) -> None:
    um, outro = com_caixa(), com_caixa()
    assert [
        r["situacao"]
        for r in resultados(
            aparelho.postar([um, outro], {um["id_evento"]: jpeg(), outro["id_evento"]: jpeg()})
        )
    ] == ["gravado", "gravado"]
    assert Captura.objects.count() == 2


def test_o_mesmo_id_duas_vezes_no_lote(aparelho: Aparelho) -> None:
    mandado = evento()
    igual, diferente = dict(mandado), {**mandado, "seq": mandado["seq"] + 1}
    primeiro, segundo, terceiro = resultados(aparelho.postar([mandado, igual, diferente]))
    assert primeiro == segundo
    assert (terceiro["situacao"], terceiro["codigo"], terceiro["indice"]) == (
        "conflito",
        "conteudo_diferente",
        2,
    )
    assert contadores(aparelho)["gravadas"] == 1


IMAGENS_RUINS = {
    "imagem_nao_jpeg": png(),
    "imagem_cortada": jpeg()[: len(jpeg()) // 2],
    "imagem_pixels_demais": com_dimensoes(jpeg(), 60_000, 60_000),
    "imagem_grande": jpeg() + os.urandom(RECORTE_MAXIMO_BYTES),
}


@pytest.mark.parametrize("codigo", IMAGENS_RUINS)
def test_imagem_ruim_invalida_so_o_seu_evento(aparelho: Aparelho, codigo: str) -> None:
    antes, ruim, depois = com_caixa(), com_caixa(), com_caixa()
    recortes = {
        antes["id_evento"]: jpeg(),
        ruim["id_evento"]: IMAGENS_RUINS[codigo],
        depois["id_evento"]: jpeg(),
    }
    um, dois, tres = resultados(aparelho.postar([antes, ruim, depois], recortes))
    assert (um["situacao"], tres["situacao"]) == ("gravado", "gravado")
    assert (dois["situacao"], dois["codigo"], dois["indice"]) == ("invalido", codigo, 1)
    assert dois["id_evento"] == ruim["id_evento"]
    assert not Captura.objects.filter(pk=ruim["id_evento"]).exists()
    assert CapturaRecusada.objects.get().codigo == codigo
    assert contadores(aparelho)[f"invalidos:{codigo}"] == 1


@pytest.mark.parametrize(
    ("ruim", "codigo"),
    [
        (evento(capturado_em=AUSENTE), "campo_ausente"),
        (evento(payload={"x": "a" * 70_000}), "payload_grande"),
        (com_caixa(), "recorte_ausente"),
        ("nem objeto", "id_evento_invalido"),
        (evento(id_evento="7"), "id_evento_invalido"),
    ],
)
def test_evento_ruim_nao_afunda_os_outros(aparelho: Aparelho, ruim: Any, codigo: str) -> None:
    bons = [evento() for _ in range(4)]
    todos = resultados(aparelho.postar([*bons[:2], ruim, *bons[2:]]))
    assert [r["situacao"] for r in todos] == ["gravado", "gravado", "invalido", "gravado", "gravado"]
    assert (todos[2]["codigo"], todos[2]["indice"]) == (codigo, 2)
    assert (todos[2]["id_evento"] is None) == (codigo == "id_evento_invalido")
    assert Captura.objects.count() == 4


def test_numero_nao_finito_custa_so_o_evento(aparelho: Aparelho) -> None:
    bom, infinito, nan = evento(), evento(payload={"s": float("inf")}), evento(payload={"s": float("nan")})
    corpo = json.dumps({"eventos": [bom, infinito, nan]}).encode()
    assert b"NaN" in corpo and b"Infinity" in corpo
    situacoes = resultados(aparelho.postar_cru(corpo, "application/json"))
    assert [r["situacao"] for r in situacoes] == ["gravado", "invalido", "invalido"]


def test_inteiro_que_nao_cabe_em_64_bits_custa_so_o_evento(aparelho: Aparelho) -> None:
    """Nem arredondado em silêncio: dois inteiros diferentes nunca viram o mesmo conteúdo."""
    cabe = [
        evento(payload={"id": 2**64 - 1}),
        evento(payload={"id": -(2**63)}),
        evento(payload={"n": 0.1 + 0.2}),
    ]
    demais = [evento(payload={"id": 2**64}), evento(payload=[-(2**63) - 1]), evento(payload={"id": 10**300})]
    situacoes = resultados(aparelho.postar([*cabe, *demais]))
    assert [r["situacao"] for r in situacoes] == ["gravado"] * 3 + ["invalido"] * 3
    assert {r["codigo"] for r in situacoes[3:]} == {"campo_invalido"}
    assert Captura.objects.get(pk=cabe[0]["id_evento"]).payload == {"id": 2**64 - 1}


def test_nul_e_meio_emoji_sao_trocados_na_borda(aparelho: Aparelho) -> None:
    mandado = evento(payload={"pl\x00aca": "A\x00B", "nota": "x\ud83dy"})
    for _ in range(2):
        assert resultados(aparelho.postar([mandado]))[0]["situacao"] == "gravado"
    assert Captura.objects.get().payload == {"pl\ufffdaca": "A\ufffdB", "nota": "x\ufffdy"}


def test_payload_null_e_um_payload(aparelho: Aparelho) -> None:
    mandado = evento(payload=None)
    assert resultados(aparelho.postar([mandado]))[0]["situacao"] == "gravado"
    assert Captura.objects.get().payload is None


def test_hora_suspeita_fica_na_linha_com_o_motivo(aparelho: Aparelho) -> None:
    mandado = evento(capturado_em="1970-01-01T00:03:00Z", idade_ms=1_000)
    assert resultados(aparelho.postar([mandado]))[0]["situacao"] == "gravado"
    assert Captura.objects.get().hora_suspeita == "anterior_a_2020"


def test_recorte_sem_evento_e_contado(aparelho: Aparelho) -> None:
    mandado = com_caixa()
    sobra = evento()["id_evento"]
    aparelho.postar([mandado], {mandado["id_evento"]: jpeg(), sobra: jpeg()})
    assert contadores(aparelho)["recortes_sem_evento"] == 1


def test_descartes_contam_uma_vez_por_relato(aparelho: Aparelho) -> None:
    mandado = evento()
    for _ in range(3):
        aparelho.postar([mandado], descartados={"teto_de_tentativas": 2, "disco_cheio": 1})
    for _ in range(2):
        aparelho.pulsar(descartados={"teto_de_tentativas": 5}, relato_id="delta-2")
    somas = contadores(aparelho)
    assert somas["descartados:teto_de_tentativas"] == 7
    assert somas["descartados:disco_cheio"] == 1
    assert RelatoDeDescarte.objects.count() == 2


def test_pulso_fica_no_aparelho(aparelho: Aparelho) -> None:
    resposta = aparelho.pulsar(
        versao="1.4.0",
        boot_id="b9",
        fila={"qtd": 12, "mais_antigo_s": 90.5},
        disco_livre_bytes=10**9,
        quarentena=2,
        quadros={"qtd": 5, "bytes": 10**6},
        relogio_suspeito=True,
    )
    assert (resposta.status_code, set(resposta.json())) == (200, {"pedidos", "hora_servidor"})
    dispositivo = Dispositivo.objects.get()
    assert (dispositivo.fila_qtd, dispositivo.fila_mais_antigo_s, dispositivo.quarentena) == (12, 90.5, 2)
    assert (dispositivo.versao, dispositivo.boot_id, dispositivo.relogio_suspeito) == ("1.4.0", "b9", True)
    assert dispositivo.ultimo_pulso_em is not None and not dispositivo.silencioso(timezone.now())


@pytest.mark.parametrize(
    ("corpo", "tipo", "status", "codigo"),
    [
        (b"{", "application/json", 400, "corpo_ilegivel"),
        (b"\xff\xfe{}", "application/json", 400, "corpo_ilegivel"),
        (b"[]", "application/json", 400, "lote_invalido"),
        (b'{"eventos": 3}', "application/json", 400, "lote_invalido"),
        (json.dumps({"eventos": [{}] * 101}).encode(), "application/json", 413, "eventos_demais"),
        (montar_multipart({"eventos": []}, {})[:-20], TIPO_MULTIPART, 400, "corpo_ilegivel"),
        (montar_multipart(b"{", {}), TIPO_MULTIPART, 400, "corpo_ilegivel"),
        (b"--x\r\n", "multipart/form-data", 400, "corpo_ilegivel"),
        (bytes(16 * 1024 * 1024 + 1), "application/json", 413, "corpo_grande"),
    ],
)
def test_lote_inteiro_ilegivel_e_recusado_e_contado(
    aparelho: Aparelho, corpo: bytes, tipo: str, status: int, codigo: str
) -> None:
    resposta = aparelho.postar_cru(corpo, tipo)
    assert (resposta.status_code, resposta.json()["codigo"]) == (status, codigo)
    assert resposta.json()["detail"]
    assert RecusaDeCaptura.objects.get().motivo == codigo
    assert not Captura.objects.exists()


def test_corpo_comprimido_e_recusado_com_codigo(aparelho: Aparelho) -> None:
    resposta = aparelho.postar_cru(b"x", "application/json", **{"content-encoding": "gzip"})
    assert (resposta.status_code, resposta.json()["codigo"]) == (415, "codificacao_desconhecida")


@pytest.mark.parametrize(
    ("autorizacao", "codigo"),
    [
        (None, "token_ausente"),
        ("Basic abc", "token_ausente"),
        ("Bearer ", "token_ausente"),
        ("Bearer cap_desconhecido", "token_desconhecido"),
        ("Bearer \xe9\xff", "token_desconhecido"),
    ],
)
def test_sem_token_que_valha_e_401_contado(db: None, autorizacao: str | None, codigo: str) -> None:
    cabecalhos = {} if autorizacao is None else {"authorization": autorizacao}
    resposta = Client().post(
        "/captura/ingestao", b'{"eventos":[]}', content_type="application/json", headers=cabecalhos
    )
    assert (resposta.status_code, resposta.json()["codigo"]) == (401, codigo)
    recusa = RecusaDeCaptura.objects.get()
    assert (recusa.motivo, recusa.dispositivo_id) == (codigo, None)


def test_mil_pendentes_entram_em_lotes(aparelho: Aparelho) -> None:
    """Depois de uma queda longa: cem por lote, todos confirmados."""
    for _ in range(10):
        assert {r["situacao"] for r in resultados(aparelho.postar([evento() for _ in range(100)]))} == {
            "gravado"
        }
    assert Captura.objects.count() == 1_000
    assert contadores(aparelho)["gravadas"] == 1_000


@pytest.mark.parametrize(
    ("metodo", "rota", "status", "codigo"),
    [
        ("PUT", "ingestao", 405, "metodo_nao_permitido"),
        ("GET", "pulso", 405, "metodo_nao_permitido"),
        ("POST", "pedidos", 405, "metodo_nao_permitido"),
        ("PUT", "quadros/x", 405, "metodo_nao_permitido"),
        ("GET", "quadros/x/indisponivel", 405, "metodo_nao_permitido"),
        ("HEAD", "quadros/x", 412, "versao_do_tus"),
    ],
)
def test_metodo_ou_versao_errada_tambem_e_contada(
    aparelho: Aparelho, metodo: str, rota: str, status: int, codigo: str
) -> None:
    cabecalhos = {**aparelho.autorizacao, "tus-resumable": "0.1"}
    assert Client().generic(metodo, f"/captura/{rota}", headers=cabecalhos).status_code == status
    recusa = RecusaDeCaptura.objects.get()
    assert (recusa.motivo, recusa.quantidade) == (codigo, 1)
