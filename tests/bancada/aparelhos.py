"""O lado das capturas: os aparelhos, os lotes prontos com recortes de verdade, e a conferência.

Criar os aparelhos roda também como programa, dentro do ambiente do servidor medido, como em `aplicativos.py`.
"""

import io
import json
import random
import subprocess
import sys
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime

import orjson
import psycopg
from PIL import Image, ImageFilter

from tests.bancada.banco import ContaErrada
from tests.bancada.servidor import RAIZ, Servidor, ambiente_do_servidor

EVENTOS_POR_LOTE = 20  # contrato da bancada
RECORTE_BYTES = 20 * 1024  # contrato da bancada; os sorteados ficam a menos de um décimo disto
RECORTES_DIFERENTES = 64
APARELHOS = 8  # um por conexão: cada um manda um lote por vez, como o cliente
PRAZO_S = 60
FRONTEIRA = "lote-da-bancada"

SQL_LIMPAR = "TRUNCATE ingestao_captura, ingestao_medidadecaptura CASCADE"
SQL_CONFERIR = """
    SELECT count(*), coalesce(sum(octet_length(recorte)), 0)::bigint,
        coalesce(sum(reenvios_link + reenvios_fila), 0)::bigint,
        (SELECT coalesce(sum(quantidade), 0)::bigint FROM ingestao_medidadecaptura WHERE medida = 'gravadas')
    FROM ingestao_captura
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carregamento:
    """As requisições de uma rodada, e o que o banco deve mostrar: eventos e bytes de recortes."""

    requisicoes: tuple[bytes, ...]
    eventos: int
    recortes_bytes: int
    linha: bytes  # um evento e o seu recorte, para a referência gravar os mesmos bytes


def criar_aparelhos(servidor: Servidor) -> list[str]:
    """Cria os aparelhos da bancada; devolve os tokens."""
    saida = subprocess.run(
        [sys.executable, "-m", "tests.bancada.aparelhos"],
        env=ambiente_do_servidor(servidor.dados),
        cwd=RAIZ,
        check=True,
        stdout=subprocess.PIPE,
        timeout=PRAZO_S,
    ).stdout
    return list(json.loads(saida))


def sortear_recortes(semente: int) -> list[bytes]:
    """JPEGs diferentes de uns 20 KB: ruído suavizado, que pesa como uma imagem de câmera."""
    dado = random.Random(semente)
    return [_sortear_recorte(dado) for _ in range(RECORTES_DIFERENTES)]


def montar_carregamento(
    tokens: list[str], recortes: list[bytes], *, eventos: int, porta: int
) -> Carregamento:
    """Os lotes prontos, em rodízio entre os aparelhos; ids sempre novos."""
    requisicoes = []
    recortes_bytes = 0
    linha = b""
    for numero in range(eventos // EVENTOS_POR_LOTE):
        partes = {
            str(uuid.uuid4()): recortes[(numero * EVENTOS_POR_LOTE + k) % len(recortes)]
            for k in range(EVENTOS_POR_LOTE)
        }
        do_lote = [_montar_evento(id_, numero * EVENTOS_POR_LOTE + k) for k, id_ in enumerate(partes)]
        recortes_bytes += sum(map(len, partes.values()))
        linha = linha or orjson.dumps(do_lote[0]) + next(iter(partes.values()))
        requisicoes.append(_montar_requisicao(tokens[numero % len(tokens)], do_lote, partes, porta))
    return Carregamento(
        requisicoes=tuple(requisicoes),
        eventos=len(requisicoes) * EVENTOS_POR_LOTE,
        recortes_bytes=recortes_bytes,
        linha=linha,
    )


def confirma_tudo(resposta: bytes) -> bool:
    """Se a resposta confirma todos os eventos do lote."""
    return resposta[9:12] == b"200" and resposta.count(b'"situacao":"gravado"') == EVENTOS_POR_LOTE


def limpar(banco: psycopg.Connection) -> None:
    """Deixa as tabelas das capturas vazias e o disco em dia."""
    banco.execute(SQL_LIMPAR)
    banco.execute("CHECKPOINT")


def conferir(banco: psycopg.Connection, carregamento: Carregamento) -> None:
    """Levanta `ContaErrada` se não estão lá exatamente os eventos mandados, com os seus bytes, sem reenvio."""
    linha = banco.execute(SQL_CONFERIR).fetchone()
    esperado = (carregamento.eventos, carregamento.recortes_bytes, 0, carregamento.eventos)
    if linha != esperado:
        raise ContaErrada(f"capturas, bytes, reenvios e medidas: {linha}; esperado {esperado}")


def _sortear_recorte(dado: random.Random) -> bytes:
    ruido = Image.frombytes("L", (240, 160), dado.randbytes(240 * 160)).filter(ImageFilter.GaussianBlur(0.6))
    saida = io.BytesIO()
    for qualidade in range(95, 40, -3):
        saida = io.BytesIO()
        ruido.convert("RGB").save(saida, "JPEG", quality=qualidade)
        if saida.tell() <= RECORTE_BYTES:
            break
    return saida.getvalue()


def _montar_evento(id_evento: str, seq: int) -> dict[str, object]:
    return {
        "id_evento": id_evento,
        "capturado_em": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "idade_ms": 830,
        "seq": seq,
        "tentativa": 1,
        "payload": {"placa": f"ABC{seq % 10}D{seq % 100:02d}", "confianca": 0.93, "faixa": seq % 4,
                    "deteccoes": [{"classe": "placa", "score": 0.98}, {"classe": "carro", "score": 0.87}]},
        "quadro": {"largura": 1920, "altura": 1080, "bytes": 412_345, "sha256": f"{seq:064x}",
                   "expira_em": "2030-12-30T18:00:00Z"},
        "caixa": {"x": 100, "y": 80, "largura": 240, "altura": 160, "margem": 16},
    }  # fmt: skip


def _montar_requisicao(
    token: str, eventos: list[dict[str, object]], partes: dict[str, bytes], porta: int
) -> bytes:
    lote = orjson.dumps({"enviado_em": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "boot_id": "bancada",
                         "descartados": {}, "latencias": [], "eventos": eventos})  # fmt: skip
    corpo = [_cabeca_da_parte("lote", "application/json"), lote]
    for id_, jpeg in partes.items():
        corpo += [b"\r\n", _cabeca_da_parte(f"recorte-{id_}", "image/jpeg"), jpeg]
    corpo.append(f"\r\n--{FRONTEIRA}--\r\n".encode())
    inteiro = b"".join(corpo)
    cabecalhos = (
        "POST /captura/ingestao HTTP/1.1",
        f"Host: 127.0.0.1:{porta}",
        f"Content-Length: {len(inteiro)}",
        f"Content-Type: multipart/form-data; boundary={FRONTEIRA}",
        f"Authorization: Bearer {token}",
        "User-Agent: lastro-captura/0.1.0",
    )
    return "\r\n".join(cabecalhos).encode() + b"\r\n\r\n" + inteiro


def _cabeca_da_parte(nome: str, tipo: str) -> bytes:
    return (
        f'--{FRONTEIRA}\r\nContent-Disposition: form-data; name="{nome}"; filename="{nome}"\r\n'
        f"Content-Type: {tipo}\r\n\r\n"
    ).encode()


def _criar() -> None:
    import django

    django.setup()
    from ingestao.capturas.dispositivos import criar_dispositivo

    print(json.dumps([criar_dispositivo(f"Bancada {numero}")[1] for numero in range(APARELHOS)]))


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _criar()
