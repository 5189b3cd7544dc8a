"""Capturas com a web e o PostgreSQL morrendo: o que o aparelho ouviu ser gravado está lá, uma vez, com o mesmo ACK."""

import contextlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest

from tests.caos import falhas
from tests.caos.envio import Resposta, SemResposta
from tests.caos.servidor import RAIZ, ServidorLocal, esperar
from tests.falhas.carga import em_paralelo
from tests.falhas.test_memoria import maior_memoria
from tests.ingestao.capturas.aparelho import TIPO_MULTIPART, com_caixa, jpeg, montar_multipart
from tests.ingestao.capturas.test_recortes import com_dimensoes

APARELHOS = 4
LOTES_POR_APARELHO = 30
EVENTOS_POR_LOTE = 5
QUEDAS = (
    (0.5, falhas.matar_web),
    (1.5, falhas.matar_postgres),
    (4.0, falhas.matar_web),
    (5.0, falhas.matar_postgres),
)
RITMO_S = 0.2  # para que a carga dure mais que as quedas
PRAZO_DO_LOTE_S = 90
MAX_WEB_MB = 190  # a base do Django e o orçamento de corpos; as imagens não são decodificadas
EM_ESPERA = 500

SQL_CAPTURAS = """
    SELECT id_evento::text, to_char(gravado_em AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        octet_length(recorte)
    FROM ingestao_captura WHERE dispositivo_id = ANY(%s::uuid[])
"""
SQL_MEDIDAS = """
    SELECT medida, sum(quantidade)::bigint FROM ingestao_medidadecaptura
    WHERE dispositivo_id = ANY(%s::uuid[]) GROUP BY medida
"""


@dataclass(slots=True)
class AparelhoDeVerdade:
    """Um aparelho que fala HTTP com um servidor de verdade e insiste até ouvir."""

    servidor: ServidorLocal
    id: str
    token: str
    acks: dict[str, set[str]] = field(default_factory=dict)
    envios: int = 0

    def chamar(
        self, metodo: str, caminho: str, corpo: bytes = b"", tipo: str = "application/json"
    ) -> Resposta:
        """Uma chamada numa conexão nova; levanta SemResposta."""
        conexao = http.client.HTTPConnection("127.0.0.1", self.servidor.porta, timeout=20)
        try:
            cabecalhos = {"Authorization": f"Bearer {self.token}", "Content-Type": tipo}
            conexao.request(metodo, caminho, corpo, cabecalhos)
            veio = conexao.getresponse()
            return Resposta(
                status=veio.status,
                cabecalhos={nome.lower(): valor for nome, valor in veio.getheaders()},
                corpo=veio.read(),
            )
        except (OSError, http.client.HTTPException) as queda:
            raise SemResposta(repr(queda)) from queda
        finally:
            conexao.close()

    def mandar_ate_ouvir(self, eventos: list[dict[str, Any]], prazo_s: float = PRAZO_DO_LOTE_S) -> None:
        """Reenvia o lote, com a tentativa crescendo, até o 200; guarda cada ACK como veio."""
        limite = time.monotonic() + prazo_s
        for tentativa in range(1, 10_000):
            lote = {"boot_id": "b", "eventos": [{**e, "tentativa": tentativa} for e in eventos]}
            corpo = montar_multipart(lote, {e["id_evento"]: jpeg() for e in eventos})
            self.envios += 1
            with contextlib.suppress(SemResposta):
                resposta = self.chamar("POST", "/captura/ingestao", corpo, TIPO_MULTIPART)
                if resposta.status == 200:
                    for resultado in resposta.json()["resultados"]:
                        assert resultado["situacao"] == "gravado", resultado
                        self.acks.setdefault(resultado["id_evento"], set()).add(resultado["gravado_em"])
                    return
                assert resposta.status == 503, resposta
                assert int(resposta.cabecalhos["retry-after"]) > 0
            assert time.monotonic() < limite, "o servidor não voltou"
            time.sleep(0.1)


def cadastrar(servidor: ServidorLocal, nome: str) -> AparelhoDeVerdade:
    """`manage.py criar_dispositivo` ao lado do servidor."""
    fim = subprocess.run(
        [sys.executable, "manage.py", "criar_dispositivo", "--nome", nome],
        env=servidor.ambiente(),
        cwd=RAIZ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    (linha,) = fim.stdout.splitlines()
    return AparelhoDeVerdade(servidor, **json.loads(linha))


@pytest.fixture(scope="module")
def aparelhos(servidor_da_pasta: ServidorLocal) -> Iterator[list[AparelhoDeVerdade]]:
    """Os aparelhos depois da carga com as quedas: tudo o que mandaram foi confirmado."""
    semente = random.randrange(10**6)
    print(f"semente {semente}")
    servidor_da_pasta.esperar_de_pe()
    todos = [cadastrar(servidor_da_pasta, f"com-quedas-{n}") for n in range(APARELHOS)]
    erros: list[BaseException] = []

    def trabalhar(aparelho: AparelhoDeVerdade) -> None:
        try:
            for _ in range(LOTES_POR_APARELHO):
                aparelho.mandar_ate_ouvir([com_caixa() for _ in range(EVENTOS_POR_LOTE)])
                time.sleep(RITMO_S)
        except BaseException as erro:  # noqa: BLE001 - levada à thread do teste
            erros.append(erro)

    threads = [threading.Thread(target=trabalhar, args=(aparelho,), daemon=True) for aparelho in todos]
    comeco = time.monotonic()
    for thread in threads:
        thread.start()
    for instante_s, derrubar in QUEDAS:
        time.sleep(max(0.0, comeco + instante_s - time.monotonic()))
        derrubar(servidor_da_pasta, Random(semente))
    for thread in threads:
        thread.join(PRAZO_DO_LOTE_S * 2)
    assert not erros, erros[0]
    servidor_da_pasta.esperar_de_pe()
    yield todos


def gravadas(servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]) -> dict[str, tuple[str, int]]:
    linhas = servidor.consultar(SQL_CAPTURAS, [[a.id for a in aparelhos]])
    return {id_: (gravado_em, recorte_bytes) for id_, gravado_em, recorte_bytes in linhas}


def medidas(servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]) -> dict[str, int]:
    return dict(servidor.consultar(SQL_MEDIDAS, [[a.id for a in aparelhos]]))


def test_o_que_foi_confirmado_esta_la_uma_vez_com_a_hora_do_ack(
    servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]
) -> None:
    acks = {id_: horas for aparelho in aparelhos for id_, horas in aparelho.acks.items()}
    linhas = gravadas(servidor, aparelhos)
    assert len(acks) == APARELHOS * LOTES_POR_APARELHO * EVENTOS_POR_LOTE
    assert linhas.keys() == acks.keys(), "nem a mais, nem a menos"
    assert {id_: {linha[0]} for id_, linha in linhas.items()} == acks
    assert {linha[1] for linha in linhas.values()} == {len(jpeg())}


def test_as_quedas_causaram_reenvios_e_nada_foi_contado_duas_vezes(
    servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]
) -> None:
    somas = medidas(servidor, aparelhos)
    total = APARELHOS * LOTES_POR_APARELHO * EVENTOS_POR_LOTE
    assert sum(a.envios for a in aparelhos) > APARELHOS * LOTES_POR_APARELHO, "nenhuma queda foi sentida"
    assert (somas["gravadas"], somas["bytes"]) == (total, total)
    assert somas.get("reenvio_fila", 0) == 0, "a tentativa sempre cresceu: a culpa é do caminho"


def test_reenviar_tudo_depois_devolve_os_mesmos_acks(
    servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]
) -> None:
    aparelho = aparelhos[0]
    eventos = [com_caixa() for _ in range(EVENTOS_POR_LOTE)]
    for _ in range(3):
        aparelho.mandar_ate_ouvir(eventos)
    assert all(len(aparelho.acks[e["id_evento"]]) == 1 for e in eventos)


def test_sem_banco_e_503_depressa_e_nada_se_conta(
    servidor: ServidorLocal, aparelhos: list[AparelhoDeVerdade]
) -> None:
    aparelho = cadastrar(servidor, "sem-banco")
    corpo = json.dumps({"eventos": [{"id_evento": str(uuid.uuid4())}]}).encode()
    with servidor.sem_postgres():
        respostas = em_paralelo(
            lambda caminho: aparelho.chamar("GET" if "pedidos" in caminho else "POST", caminho, corpo),
            ["/captura/ingestao", "/captura/pulso", "/captura/pedidos?espera_s=5"] * 4,
            threads=6,
        )
    assert {(r.status, r.codigo) for r in respostas} == {(503, "armazenamento_indisponivel")}
    assert all(int(r.cabecalhos["retry-after"]) > 0 for r in respostas)
    servidor.esperar_de_pe()
    assert medidas(servidor, [aparelho]) == {}


def test_imagens_ruins_nao_crescem_a_web(servidor: ServidorLocal) -> None:
    aparelho = cadastrar(servidor, "imagens-ruins")
    bomba = com_dimensoes(jpeg(), 60_000, 60_000)
    grande = jpeg() + bytes(2 * 1024 * 1024)

    def mandar(n: int) -> Resposta:
        mandado = com_caixa()
        recortes = {mandado["id_evento"]: grande if n % 2 else bomba}
        corpo = montar_multipart({"eventos": [mandado]}, recortes)
        return aparelho.chamar("POST", "/captura/ingestao", corpo, TIPO_MULTIPART)

    with maior_memoria(servidor, "web") as memoria_mb:
        respostas = em_paralelo(mandar, range(80), threads=8)

    codigos = {
        r["codigo"] for resposta in respostas if resposta.status == 200 for r in resposta.json()["resultados"]
    }
    assert {resposta.status for resposta in respostas} <= {200, 503}
    assert codigos == {"imagem_grande", "imagem_pixels_demais"}
    assert max(memoria_mb.values()) < MAX_WEB_MB, memoria_mb
    assert gravadas(servidor, [aparelho]) == {}


def test_quinhentos_a_espera_nao_param_a_porta(servidor: ServidorLocal) -> None:
    aparelho = cadastrar(servidor, "a-espera")
    abertas = []
    try:
        for _ in range(EM_ESPERA):
            conexao = http.client.HTTPConnection("127.0.0.1", servidor.porta, timeout=60)
            conexao.request(
                "GET", "/captura/pedidos?espera_s=25", headers={"Authorization": f"Bearer {aparelho.token}"}
            )
            abertas.append(conexao)
        comeco = time.monotonic()
        for _ in range(10):
            aparelho.mandar_ate_ouvir([com_caixa()])
        assert time.monotonic() - comeco < 20, "com as threads presas, só passariam ao fim das esperas"
        respostas = [conexao.getresponse() for conexao in abertas]
        corpos = [json.loads(resposta.read()) for resposta in respostas]
    finally:
        for conexao in abertas:
            conexao.close()
    assert {resposta.status for resposta in respostas} == {200}
    assert all(corpo["pedidos"] == [] for corpo in corpos)


def test_quem_desliga_no_meio_da_espera_nao_fica_na_sala(servidor: ServidorLocal) -> None:
    aparelho = cadastrar(servidor, "desliga")
    web = servidor.processo("web")
    for _ in range(100):
        conexao = http.client.HTTPConnection("127.0.0.1", servidor.porta, timeout=60)
        conexao.request(
            "GET", "/captura/pedidos?espera_s=25", headers={"Authorization": f"Bearer {aparelho.token}"}
        )
        conexao.close()

    def sem_conexoes() -> bool:
        ligadas = [c for p in [web, *web.children(recursive=True)] for c in p.net_connections("tcp")]
        return sum(c.status in ("ESTABLISHED", "CLOSE_WAIT") for c in ligadas) < 20

    assert esperar(sem_conexoes, 15, passo_s=0.5)
