"""O cliente de verdade, o servidor de verdade, e tudo caindo: cada captura chega, uma vez, com o mesmo ACK."""

import io
import json
import os
import random
import re
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from PIL import Image

from ingestao.capturas.simulacao.enlace import Destino, Enlace, Mensagem, Sorteio, sortear_perdas
from ingestao.cliente import Cliente
from tests.caos import falhas
from tests.caos.servidor import RAIZ, ServidorLocal, esperar
from tests.falhas.test_capturas import AparelhoDeVerdade

OPCOES: dict[str, Any] = {"espera_base_s": 0.05, "espera_teto_s": 0.5, "pulso_s": 0.5, "pedidos_espera_s": 1}
GRAVADO = re.compile(rb'\{"id_evento":"([0-9a-f-]{36})","situacao":"gravado","gravado_em":"[^"]+"\}')
SQL_CONTAS = """
    SELECT array_agg(id_evento::text), coalesce(sum(reenvios_link), 0)::int, coalesce(sum(reenvios_fila), 0)::int
    FROM ingestao_captura WHERE dispositivo_id = %s
"""
SQL_PEDIDO = """
    SELECT p.situacao, p.motivo_indisponivel, p.arquivo, p.divergencias FROM ingestao_pedido p WHERE p.id = %s
"""
PRAZO_S = 60
SEM_QUADRO: dict[str, dict[str, object]] = {
    "despejado_por_espaco": {"quadros_bytes": 1},
    "expirado": {"quadros_janela_s": 1.0},
    "nunca_guardado": {"guardar_quadros": False},
}


class Acks:
    """Todo ACK que o servidor escreveu, entregue ou não, byte a byte."""

    def __init__(self) -> None:
        self.por_id: dict[bytes, set[bytes]] = defaultdict(set)
        self._vez = threading.Lock()

    def __call__(self, requisicao: Mensagem, resposta: Mensagem) -> None:
        with self._vez:
            for achado in GRAVADO.finditer(resposta.corpo):
                self.por_id[achado.group(1)].add(achado.group(0))


@pytest.fixture(scope="module")
def aparelhos(servidor_da_pasta: ServidorLocal) -> dict[str, AparelhoDeVerdade]:
    """Um aparelho para cada teste, criados de uma vez."""
    nomes = ["morto-em-laco", "servidor-caindo", "contestado", *SEM_QUADRO]
    servidor_da_pasta.esperar_de_pe()
    criados = servidor_da_pasta.rodar_modulo("tests.falhas.retaguarda", "cadastrar", *nomes)
    return {
        nome: AparelhoDeVerdade(servidor_da_pasta, **criado)
        for nome, criado in zip(nomes, criados, strict=True)
    }


def iniciar(
    url: str, pasta: Path, aparelho: AparelhoDeVerdade, *, segundos: float, **opcoes: object
) -> "subprocess.Popen[str]":
    """O programa da câmera, num processo."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.falhas.aparelho_de_campo", url, str(pasta), str(segundos),
         str(random.randrange(10**6))],
        cwd=RAIZ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "APARELHO_TOKEN": aparelho.token, "APARELHO_OPCOES": json.dumps({**OPCOES, **opcoes})},
    )  # fmt: skip


def colher(processo: "subprocess.Popen[str]") -> list[str]:
    """Os ids que ele disse ter gravado."""
    assert processo.stdout is not None
    return [linha for linha in processo.stdout.read().splitlines() if len(linha) == 36]


def escoar(url: str, pasta: Path, aparelho: AparelhoDeVerdade) -> None:
    """O aparelho religado, sem capturar mais nada, até a fila esvaziar."""
    processo = iniciar(url, pasta, aparelho, segundos=-1)
    processo.communicate(timeout=PRAZO_S)
    assert processo.returncode == 0, "a fila não escoou"


def contas(servidor: ServidorLocal, aparelho: AparelhoDeVerdade) -> tuple[list[str], int, int]:
    ((ids, link, fila),) = servidor.consultar(SQL_CONTAS, [aparelho.id])
    return ids or [], link, fila


def test_simulador_fecha_a_conta_com_um_terco_das_requisicoes_cortadas(servidor: ServidorLocal) -> None:
    fim = subprocess.run(
        [sys.executable, "manage.py", "simular_dispositivos", "--quantos", "3", "--segundos", "5",
         "--perda", "0.35", "--url", f"http://127.0.0.1:{servidor.porta}"],
        env=servidor.ambiente(), cwd=RAIZ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    balanco = json.loads(fim.stdout)

    assert fim.returncode == 0, fim.stdout
    assert balanco["capturados"] == balanco["no_servidor"] > 30
    assert (balanco["perdidos"], balanco["duplicatas"], balanco["reenvios_fila"]) == (0, 0, 0)
    assert balanco["reenvios_link"] == balanco["reenvios_causados"] > 0
    assert all(balanco["cortes"][como] > 0 for como in ("antes", "meio", "depois", "resposta"))


def test_aparelho_morto_em_laco_enquanto_captura_por_um_link_ruim(
    servidor: ServidorLocal, aparelhos: dict[str, AparelhoDeVerdade], tmp_path: Path
) -> None:
    aparelho = aparelhos["morto-em-laco"]
    acks, prometidos = Acks(), []
    with Enlace(servidor.porta, sortear_perdas(0.2, 11), ao_responder=acks) as enlace:
        for vez in range(4):
            processo = iniciar(enlace.url, tmp_path, aparelho, segundos=0)
            assert processo.stdout is not None
            prometidos.append(processo.stdout.readline().strip())
            time.sleep(0.5 + 0.3 * vez)
            processo.kill()
            prometidos += colher(processo)
        escoar(enlace.url, tmp_path, aparelho)

    ids, link, fila = contas(servidor, aparelho)
    assert len(prometidos) > 10
    assert set(prometidos) <= set(ids)
    assert len(ids) <= len(prometidos) + 4 * 3  # a captura do instante da morte: gravada, e não dita
    assert fila == 0
    assert link >= enlace.contas.eventos_sem_ack  # uma morte também perde o ACK já entregue
    assert {id_.decode() for id_ in acks.por_id} == set(ids)
    assert {len(textos) for textos in acks.por_id.values()} == {1}, (
        "o ACK de um reenvio é o mesmo, byte a byte"
    )


def test_web_e_postgres_mortos_enquanto_o_aparelho_captura(
    servidor: ServidorLocal, aparelhos: dict[str, AparelhoDeVerdade], tmp_path: Path
) -> None:
    aparelho = aparelhos["servidor-caindo"]
    processo = iniciar(f"http://127.0.0.1:{servidor.porta}", tmp_path, aparelho, segundos=7)
    for derrubar in (falhas.matar_web, falhas.matar_postgres, falhas.matar_web):
        time.sleep(1.7)
        derrubar(servidor, Random(3))
    saida, _ = processo.communicate(timeout=PRAZO_S + 30)
    assert processo.returncode == 0, "a fila não escoou"
    servidor.esperar_de_pe()

    ids, _, fila = contas(servidor, aparelho)
    assert sorted(saida.split()) == sorted(ids)
    assert len(ids) > 20
    assert fila == 0


def cortar_pedacos(vezes: int) -> Callable[[int], Sorteio]:
    """Os primeiros envios de pedaço caem: no meio, depois do COMMIT, e no meio da resposta."""
    planos = iter([Destino.CORTA_NO_MEIO, Destino.CORTA_DEPOIS, Destino.CORTA_A_RESPOSTA][:vezes])

    def sortear(requisicao: Mensagem) -> Destino:
        return next(planos, Destino.PASSA) if requisicao.linha.startswith("PATCH ") else Destino.PASSA

    return lambda numero: sortear


@pytest.fixture
def retornar(servidor: ServidorLocal) -> Iterator[Callable[..., None]]:
    """Liga de novo o aparelho (a linha de comando de verdade) e o desliga no fim."""
    processos: list[subprocess.Popen[bytes]] = []

    def ligar(url: str, pasta: Path, aparelho: AparelhoDeVerdade) -> None:
        opcoes = {f"LASTRO_CAPTURA_{nome.upper()}": str(valor) for nome, valor in OPCOES.items()}
        ambiente = {**os.environ, **opcoes, "LASTRO_CAPTURA_TOKEN": aparelho.token}
        comando = [sys.executable, "-m", "ingestao.cliente", "servir", "--url", url, "--pasta", str(pasta)]
        processo = subprocess.Popen(
            comando, cwd=RAIZ, env=ambiente, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        processos.append(processo)

    yield ligar
    for processo in processos:
        processo.terminate()
        assert processo.wait(30) == 0


def test_contestacao_com_o_aparelho_fora_do_ar_e_a_conexao_cortada_tres_vezes(
    servidor: ServidorLocal,
    aparelhos: dict[str, AparelhoDeVerdade],
    tmp_path: Path,
    retornar: Callable[..., None],
) -> None:
    aparelho = aparelhos["contestado"]
    quadro = desenhar_quadro_grande()
    with Cliente(f"http://127.0.0.1:{servidor.porta}", aparelho.token, tmp_path, **OPCOES) as cliente:
        (id_evento,) = cliente.capturar(quadro, [(700, 500, 200, 100)], {"placa": "ABC1D23"})
        assert cliente.esperar_esvaziar(PRAZO_S)
    (pedido,) = servidor.rodar_modulo("tests.falhas.retaguarda", "contestar", id_evento)
    assert servidor.consultar(SQL_PEDIDO, [pedido])[0][0] == "aberto"

    with Enlace(servidor.porta, cortar_pedacos(3)) as enlace:
        retornar(enlace.url, tmp_path, aparelho)
        assert esperar(
            lambda: servidor.consultar(SQL_PEDIDO, [pedido])[0][0] != "aberto", PRAZO_S, passo_s=0.1
        )

    situacao, _, arquivo, divergencias = servidor.consultar(SQL_PEDIDO, [pedido])[0]
    assert (situacao, divergencias) == ("atendido", 0)
    assert [enlace.contas.destinos[como] for como in ("meio", "depois", "resposta")] == [1, 1, 1]
    assert (servidor.dados / "quadros" / arquivo).read_bytes() == quadro


def desenhar_quadro_grande() -> bytes:
    """Mais de meio megabyte: vários pedaços, mesmo depois de três cortes."""
    saida = io.BytesIO()
    Image.effect_noise((1600, 1200), 60).convert("RGB").save(saida, "JPEG", quality=85)
    assert saida.tell() > 500_000
    return saida.getvalue()


def test_quadro_que_ja_nao_existe_aparece_como_tal_para_quem_contesta(
    servidor: ServidorLocal,
    aparelhos: dict[str, AparelhoDeVerdade],
    tmp_path: Path,
    retornar: Callable[..., None],
) -> None:
    url = f"http://127.0.0.1:{servidor.porta}"
    de_cada: dict[str, list[str]] = {}
    processos = {
        motivo: iniciar(url, tmp_path / motivo, aparelhos[motivo], segundos=0.2, **opcoes)
        for motivo, opcoes in SEM_QUADRO.items()
    }
    for motivo, processo in processos.items():
        de_cada[motivo] = processo.communicate(timeout=PRAZO_S)[0].split()
    time.sleep(1.1)  # vence a janela do caso `expirado`
    # Religados uma vez com as suas opções: quem expira, expira; ninguém tem mais o primeiro quadro.
    religados = [
        iniciar(url, tmp_path / motivo, aparelhos[motivo], segundos=0.2, **opcoes)
        for motivo, opcoes in SEM_QUADRO.items()
    ]
    for religado in religados:
        religado.communicate(timeout=PRAZO_S)
    pedidos = servidor.rodar_modulo(
        "tests.falhas.retaguarda", "contestar", *(de_cada[motivo][0] for motivo in SEM_QUADRO)
    )
    for motivo in SEM_QUADRO:
        retornar(url, tmp_path / motivo, aparelhos[motivo])

    def respostas() -> list[tuple[str, str]]:
        return [servidor.consultar(SQL_PEDIDO, [pedido])[0][:2] for pedido in pedidos]

    assert esperar(lambda: all(s != "aberto" for s, _ in respostas()), PRAZO_S, passo_s=0.1), respostas()
    assert respostas() == [("indisponivel", motivo) for motivo in SEM_QUADRO]
