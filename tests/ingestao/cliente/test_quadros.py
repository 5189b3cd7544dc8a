"""O quadro inteiro fica até vencer ou faltar espaço; pedido, sobe de onde parou, ou o servidor sabe por que não."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from ingestao.cliente.mensagens import Pedido
from tests.ingestao.cliente.conftest import CAIXA, Bancada, Montar, desenhar_quadro
from tests.ingestao.cliente.servidor import Responder

GRANDE = 40_000


def quadro_grande(bytes_: int = GRANDE) -> bytes:
    """Um JPEG de verdade com um comentário sorteado no fim: o tamanho que se quiser, e único."""
    return desenhar_quadro() + os.urandom(bytes_)


def capturar(bancada: Bancada, quadro: bytes) -> str:
    (id_evento,) = bancada.cliente.capturar(quadro, [CAIXA], {})
    return id_evento


def pedir(bancada: Bancada, id_evento: str, quadro: bytes, *, sha256: str | None = None) -> None:
    """Abre o pedido no servidor e o entrega ao aparelho."""
    mundo = bancada.servidor.mundo
    certo = sha256 or hashlib.sha256(quadro).hexdigest()
    mundo.quadros["p1"] = bytearray()
    mundo.pedidos.append(
        {"id": "p1", "id_evento": id_evento, "sha256": certo, "bytes": len(quadro), "offset": 0}
    )
    bancada.cliente.atendente.receber([Pedido("p1", id_evento, certo, len(quadro))])


def atender(bancada: Bancada, passos: int = 60) -> bool:
    for _ in range(passos):
        if not bancada.cliente.atendente.ha_pedidos():
            return True
        bancada.relogio.andar(bancada.cliente.atendente.passo() + 0.5)
    return not bancada.cliente.atendente.ha_pedidos()


def arquivos(pasta: Path) -> list[str]:
    return sorted(caminho.name for caminho in (pasta / "quadros").iterdir())


def test_quadro_pedido_sobe_inteiro(bancada: Bancada) -> None:
    quadro = quadro_grande(700_000)
    pedir(bancada, capturar(bancada, quadro), quadro)
    assert atender(bancada)

    assert bytes(bancada.servidor.mundo.quadros["p1"]) == quadro
    assert max(bancada.servidor.mundo.pedacos) == 256 * 1024
    assert bancada.servidor.mundo.pedidos == []


def test_cortado_tres_vezes_retoma_do_offset_do_servidor_com_pedacos_menores(bancada: Bancada) -> None:
    quadro = quadro_grande(900_000)
    bancada.servidor.mundo.cortes_no_quadro.extend([100_000, 70_000, 30_000])
    pedir(bancada, capturar(bancada, quadro), quadro)
    assert atender(bancada)

    assert bytes(bancada.servidor.mundo.quadros["p1"]) == quadro
    assert bancada.servidor.mundo.pedacos[0] == 32 * 1024  # 256 → 128 → 64 → 32, e volta a crescer
    assert max(bancada.servidor.mundo.pedacos) == 256 * 1024
    assert sum(bancada.servidor.mundo.pedacos) + 200_000 == len(quadro)  # nenhum byte foi duas vezes


def test_offset_errado_o_do_servidor_manda(bancada: Bancada) -> None:
    quadro = quadro_grande()
    pedir(bancada, capturar(bancada, quadro), quadro)
    bancada.servidor.mundo.quadros["p1"] += quadro[:12_345]  # outro envio, do qual este não soube
    assert atender(bancada)

    assert bytes(bancada.servidor.mundo.quadros["p1"]) == quadro
    assert bancada.servidor.mundo.pedacos == [len(quadro) - 12_345]


def test_pedido_que_vem_no_ack_e_atendido(bancada: Bancada) -> None:
    quadro = quadro_grande()
    id_evento = capturar(bancada, quadro)
    mundo = bancada.servidor.mundo
    mundo.quadros["p1"] = bytearray()
    sha256 = hashlib.sha256(quadro).hexdigest()
    mundo.pedidos.append(
        {"id": "p1", "id_evento": id_evento, "sha256": sha256, "bytes": len(quadro), "offset": 0}
    )
    assert bancada.esvaziar()
    assert atender(bancada)

    assert bytes(mundo.quadros["p1"]) == quadro


def test_quadro_vencido_e_dito_expirado(montar: Montar, pasta: Path) -> None:
    bancada = montar(quadros_janela_s=3600)
    quadro = quadro_grande()
    id_evento = capturar(bancada, quadro)
    bancada.relogio.andar(3500)
    bancada.cliente.quadros.expurgar()
    assert len(arquivos(pasta)) == 1
    bancada.relogio.andar(200)
    bancada.cliente.quadros.expurgar()
    assert arquivos(pasta) == []

    pedir(bancada, id_evento, quadro)
    assert atender(bancada)
    assert bancada.servidor.mundo.indisponiveis == {"p1": "expirado"}


def test_relogio_de_parede_que_salta_nao_vence_quadros(montar: Montar, pasta: Path) -> None:
    bancada = montar(quadros_janela_s=3600)
    capturar(bancada, quadro_grande())
    bancada.relogio.parede = bancada.relogio.parede.replace(year=2036)
    bancada.cliente.quadros.expurgar()

    assert len(arquivos(pasta)) == 1


def test_acima_da_cota_sai_o_mais_velho_e_o_pedido_dele_diz_por_que(montar: Montar, pasta: Path) -> None:
    bancada = montar(quadros_bytes=3 * (GRANDE + 2000))
    quadros = [quadro_grande() for _ in range(5)]
    ids = [capturar(bancada, quadro) for quadro in quadros]

    assert arquivos(pasta) == sorted(hashlib.sha256(q).hexdigest() + ".jpg" for q in quadros[2:])
    pedir(bancada, ids[0], quadros[0])
    assert atender(bancada)
    assert bancada.servidor.mundo.indisponiveis == {"p1": "despejado_por_espaco"}
    assert bancada.cliente.quadros.medir()[0] == 3


def test_disco_abaixo_do_minimo_nao_guarda_quadro_mas_o_evento_vai(montar: Montar, pasta: Path) -> None:
    bancada = montar(disco_livre_minimo_bytes=2**60)
    quadro = quadro_grande()
    id_evento = capturar(bancada, quadro)
    assert bancada.esvaziar()

    assert arquivos(pasta) == []
    assert list(bancada.servidor.mundo.gravados) == [id_evento]
    evento = bancada.servidor.mundo.recebidos[0].lote["eventos"][0]
    assert evento["quadro"]["expira_em"] == evento["capturado_em"]
    pedir(bancada, id_evento, quadro)
    assert atender(bancada)
    assert bancada.servidor.mundo.indisponiveis == {"p1": "despejado_por_espaco"}


@pytest.mark.parametrize("estrago", [lambda c: c.write_bytes(b"outra coisa"), lambda c: c.unlink()])
def test_quadro_estragado_no_disco_e_dito_ilegivel(
    bancada: Bancada, pasta: Path, estrago: Callable[[Path], None]
) -> None:
    quadro = quadro_grande()
    id_evento = capturar(bancada, quadro)
    estrago(pasta / "quadros" / arquivos(pasta)[0])
    pedir(bancada, id_evento, quadro)
    assert atender(bancada)

    assert bancada.servidor.mundo.indisponiveis == {"p1": "ilegivel"}


def test_quadro_de_evento_desconhecido_nunca_foi_guardado(montar: Montar) -> None:
    bancada = montar(guardar_quadros=False)
    quadro = quadro_grande()
    pedir(bancada, capturar(bancada, quadro), quadro)
    assert atender(bancada)

    assert bancada.servidor.mundo.indisponiveis == {"p1": "nunca_guardado"}


def test_pedido_que_o_servidor_ja_encerrou_e_esquecido(bancada: Bancada) -> None:
    quadro = quadro_grande()
    id_evento = capturar(bancada, quadro)
    bancada.cliente.atendente.receber([Pedido("sumiu", id_evento, None, None)])

    assert atender(bancada)
    assert bancada.servidor.mundo.indisponiveis == {}


def test_varias_deteccoes_dividem_o_mesmo_arquivo(bancada: Bancada, pasta: Path) -> None:
    quadro = quadro_grande()
    um, outro = bancada.cliente.capturar(quadro, [CAIXA, (1, 1, 20, 20)], {})

    assert len(arquivos(pasta)) == 1
    assert bancada.cliente.quadros.achar(um, None) == bancada.cliente.quadros.achar(outro, None)


def test_arquivo_orfao_velho_e_varrido_e_o_de_agora_fica(bancada: Bancada, pasta: Path) -> None:
    capturar(bancada, quadro_grande())
    (guardado,) = arquivos(pasta)
    velho, recente = pasta / "quadros" / "velho.jpg", pasta / "quadros" / "recente.jpg"
    agora = bancada.relogio.agora().timestamp()
    for caminho, idade_s in ((velho, 7200), (recente, 60), (pasta / "quadros" / guardado, 7200)):
        caminho.write_bytes(caminho.read_bytes() if caminho.exists() else b"x")
        os.utime(caminho, (agora - idade_s, agora - idade_s))

    assert bancada.cliente.quadros.varrer_orfaos() == 1
    assert arquivos(pasta) == sorted([guardado, "recente.jpg"])


def test_servidor_que_nao_anda_nao_vira_laco_quente(bancada: Bancada) -> None:
    quadro = quadro_grande()
    pedir(bancada, capturar(bancada, quadro), quadro)
    bancada.servidor.mundo.pedidos[0]["sha256"] = "0" * 64  # o hash nunca confere: 460 a cada vez
    for _ in range(6):
        bancada.relogio.andar(bancada.cliente.atendente.passo() + 0.001)

    assert bancada.cliente.atendente.ha_pedidos()
    assert len(bancada.servidor.mundo.pedacos) <= 6


def test_memoria_e_disco_do_quadro_de_imagem_do_pillow_conferem(bancada: Bancada, pasta: Path) -> None:
    bancada.cliente.capturar(Image.new("RGB", (200, 100), (9, 99, 199)), [CAIXA], {})
    assert bancada.esvaziar()

    (nome,) = arquivos(pasta)
    conteudo = (pasta / "quadros" / nome).read_bytes()
    quadro = bancada.servidor.mundo.recebidos[0].lote["eventos"][0]["quadro"]
    assert quadro["sha256"] == hashlib.sha256(conteudo).hexdigest() == nome.removesuffix(".jpg")
    assert (quadro["bytes"], quadro["largura"], quadro["altura"]) == (len(conteudo), 200, 100)


def test_token_recusado_no_quadro_espera_devagar(bancada: Bancada) -> None:
    bancada.servidor.mundo.no_pulso = lambda pulso: Responder(status=401)
    assert bancada.cliente.atendente.passo() == 1.0
