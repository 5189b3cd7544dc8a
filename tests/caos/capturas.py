"""As capturas sorteadas dos aparelhos diretos: boas, inválidas, em conflito, repetidas, de relógio torto. Puro.

Os conflitos vêm de duas fontes: o aparelho reusa um id seu com outro conteúdo, ou dois aparelhos usam o mesmo id. Quem
vence é quem chegar primeiro; o oráculo só exige que haja um vencedor, sempre o mesmo.
"""

import hashlib
import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import BytesIO
from random import Random
from typing import Any
from uuid import UUID

from PIL import Image

TAMANHOS = (1, 1, 2, 3, 5, 8, 12)
QTD_IMAGENS = 12
IDS_LEMBRADOS = 300
SEPARADOR = "separador-do-caos"
TIPO_MULTIPART = f"multipart/form-data; boundary={SEPARADOR}"

CHANCE_DE_INVALIDA = 0.06
CHANCE_DE_OUTRO_CONTEUDO = 0.04
CHANCE_DE_DISPUTA = 0.03
CHANCE_DE_REPETIDA_NO_LOTE = 0.03
CHANCE_DE_IMAGEM = 0.6
CHANCE_DE_RELOGIO_TORTO = 0.08
IDADE_MS = 1_500
# O relógio do aparelho contra o nosso, e o que o servidor deve dizer dele (docs/captura.md, "Relógio").
RELOGIOS_TORTOS: tuple[tuple[timedelta, str], ...] = (
    (timedelta(days=-20_000), "anterior_a_2020"),
    (timedelta(days=2), "no_futuro"),
    (timedelta(days=3_650), "no_futuro"),
    (timedelta(hours=-1), "diverge_da_idade"),
    (timedelta(days=-30), "diverge_da_idade"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captura:
    """Um evento pronto, sem a tentativa. `codigo` é a recusa certa, se ele é inválido.

    `conteudo` é o resumo do que identifica a captura, pela conta daqui; `suspeita`, a do relógio.
    """

    id: str
    evento: Mapping[str, Any]
    recorte: bytes | None = None
    codigo: str | None = None
    suspeita: str | None = None

    @property
    def conteudo(self) -> str:
        return resumir(self.evento, self.recorte) if self.codigo is None else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChamadaRuim:
    """Uma chamada que se recusa inteira."""

    corpo: bytes
    token: str | None  # None: o do aparelho
    status: int
    codigo: str


def resumir(evento: Mapping[str, Any], recorte: bytes | None) -> str:
    """SHA-256 do que se manda: hora, sequência, payload, quadro (sem validade), caixa e os bytes do recorte."""
    quadro, caixa = evento.get("quadro"), evento.get("caixa")
    return resumir_campos(
        datetime.fromisoformat(evento["capturado_em"]),
        evento["seq"],
        evento["payload"],
        quadro and [quadro[nome] for nome in ("largura", "altura", "bytes", "sha256")],
        caixa and [caixa[nome] for nome in ("x", "y", "largura", "altura", "margem")],
        hashlib.sha256(recorte).hexdigest() if recorte is not None else None,
    )


def resumir_campos(
    capturado_em: datetime,
    seq: int,
    payload: Any,
    quadro: Sequence[Any] | None,
    caixa: Sequence[int] | None,
    recorte_sha256: str | None,
) -> str:
    """A mesma conta, a partir das colunas."""
    campos = [capturado_em.astimezone(UTC).isoformat(), seq, payload, quadro, caixa, recorte_sha256]
    return hashlib.sha256(json.dumps(campos, sort_keys=True).encode()).hexdigest()


class Fabrica:
    """As capturas de um aparelho. A mesma semente dá a mesma sequência; só os instantes são os de agora."""

    def __init__(self, semente: int, numero: int) -> None:
        self._semente = semente
        self._sorteio = Random(f"{semente}:aparelho:{numero}")
        self._numero = numero
        self._seq = self._qtd_disputas = 0
        self._meus: deque[str] = deque(maxlen=IDS_LEMBRADOS)
        self._imagens = [_desenhar(Random(f"{semente}:imagem:{n}")) for n in range(QTD_IMAGENS)]

    def lote(self) -> list[Captura]:
        """As capturas de um envio; às vezes com a mesma duas vezes.

        Um id não vai com dois conteúdos no mesmo lote: as partes dos recortes teriam o mesmo nome.
        """
        sorteadas = [self._sortear() for _ in range(self._sorteio.choice(TAMANHOS))]
        capturas = list({c.id: c for c in reversed(sorteadas)}.values())[::-1]
        if self._sorteio.random() < CHANCE_DE_REPETIDA_NO_LOTE and capturas[0].codigo is None:
            capturas.append(capturas[0])
        return capturas

    def chamada_ruim(self) -> ChamadaRuim:
        """Uma chamada que o servidor deve recusar inteira, e contar."""
        boa = {"eventos": [dict(self._boa(self._novo_id()).evento)]}
        casos = (
            (json.dumps(boa).encode(), "cap_que_nao_existe", 401, "token_desconhecido"),
            (b'{"eventos": [', None, 400, "corpo_ilegivel"),
            (b'{"eventos": 3}', None, 400, "lote_invalido"),
            (json.dumps({"eventos": boa["eventos"] * 101}).encode(), None, 413, "eventos_demais"),
        )
        corpo, token, status, codigo = self._sorteio.choice(casos)
        return ChamadaRuim(corpo=corpo, token=token, status=status, codigo=codigo)

    def _sortear(self) -> Captura:
        dado = self._sorteio.random()
        if dado < CHANCE_DE_INVALIDA:
            return self._invalida()
        dado -= CHANCE_DE_INVALIDA
        if dado < CHANCE_DE_OUTRO_CONTEUDO and self._meus:
            return self._boa(self._sorteio.choice(self._meus))
        dado -= CHANCE_DE_OUTRO_CONTEUDO
        if dado < CHANCE_DE_DISPUTA:
            self._qtd_disputas += 1  # o mesmo número dá o mesmo id em todos os aparelhos
            return self._boa(_sortear_id(Random(f"{self._semente}:disputa:{self._qtd_disputas}")))
        id_ = self._novo_id()
        self._meus.append(id_)
        return self._boa(id_)

    def _boa(self, id_: str) -> Captura:
        self._seq += 1
        com_imagem = self._sorteio.random() < CHANCE_DE_IMAGEM
        desvio, suspeita = timedelta(), ""
        if self._sorteio.random() < CHANCE_DE_RELOGIO_TORTO:
            desvio, suspeita = self._sorteio.choice(RELOGIOS_TORTOS)
        capturado_em = datetime.now(UTC) - timedelta(milliseconds=IDADE_MS) + desvio
        evento: dict[str, Any] = {
            "id_evento": id_,
            "capturado_em": capturado_em.isoformat(),
            "idade_ms": IDADE_MS,
            "seq": self._seq,
            "payload": {
                "aparelho": self._numero,
                "placa": f"ABC{self._seq % 10}D{self._seq % 100:02d}",
                "texto": "ação “é” ✓",
                "score": round(self._sorteio.random(), 3),
                "nulo": None,
            },
        }
        if not com_imagem:
            return Captura(id=id_, evento=evento, suspeita=suspeita)
        recorte = self._sorteio.choice(self._imagens)
        evento["quadro"] = {
            "largura": 1920,
            "altura": 1080,
            "bytes": 412_345,
            "sha256": hashlib.sha256(id_.encode()).hexdigest(),
            "expira_em": "2030-01-01T00:00:00Z",
        }
        evento["caixa"] = {"x": 100, "y": self._seq % 900, "largura": 64, "altura": 48, "margem": 16}
        return Captura(id=id_, evento=evento, recorte=recorte, suspeita=suspeita)

    def _invalida(self) -> Captura:
        boa = self._boa(self._novo_id())
        evento, recorte = dict(boa.evento), boa.recorte
        imagem = self._imagens[0]
        caso = self._sorteio.randrange(8)
        if caso == 0:
            return Captura(
                id="", evento={**evento, "id_evento": "isto-nao-e-uuid"}, codigo="id_evento_invalido"
            )
        if caso == 1:
            del evento["payload"]
            return Captura(id=boa.id, evento=evento, recorte=recorte, codigo="campo_ausente")
        if caso == 2:
            evento["capturado_em"] = "ontem à tarde"
            return Captura(id=boa.id, evento=evento, recorte=recorte, codigo="campo_invalido")
        if caso == 3:
            evento["payload"] = {"texto": "x" * 70_000}
            return Captura(id=boa.id, evento=evento, recorte=recorte, codigo="payload_grande")
        evento["caixa"] = {"x": 0, "y": 0, "largura": 10, "altura": 10}
        evento["quadro"] = None
        ruins = (
            (None, "recorte_ausente"),
            (b"GIF89a" + bytes(200), "imagem_nao_jpeg"),
            (imagem[: len(imagem) // 2], "imagem_cortada"),
            (_com_dimensoes(imagem, 60_000, 60_000), "imagem_pixels_demais"),
        )
        recorte, codigo = ruins[caso - 4]
        return Captura(id=boa.id, evento=evento, recorte=recorte, codigo=codigo)

    def _novo_id(self) -> str:
        return _sortear_id(self._sorteio)


def montar_corpo(capturas: Sequence[Captura], tentativas: Sequence[int]) -> tuple[bytes, str]:
    """O corpo e o Content-Type de um lote: multipart se há recortes, JSON se não."""
    eventos = [{**c.evento, "tentativa": t} for c, t in zip(capturas, tentativas, strict=True)]
    lote = json.dumps({"boot_id": "caos", "eventos": eventos}).encode()
    recortes = {c.id: c.recorte for c in capturas if c.recorte is not None and c.id}
    if not recortes:
        return lote, "application/json"
    partes = [("lote", "application/json", lote)]
    partes += [(f"recorte-{id_}", "image/jpeg", recorte) for id_, recorte in recortes.items()]
    corpo = b""
    for nome, tipo, conteudo in partes:
        corpo += (
            f'--{SEPARADOR}\r\nContent-Disposition: form-data; name="{nome}"; filename="{nome}"\r\n'
            f"Content-Type: {tipo}\r\n\r\n"
        ).encode()
        corpo += conteudo + b"\r\n"
    return corpo + f"--{SEPARADOR}--\r\n".encode(), TIPO_MULTIPART


def ler_corpo(corpo: bytes, tipo: str) -> list[Captura]:
    """O inverso, para o que o cliente de verdade mandou. Não usa a leitura do servidor: é ela que se confere."""
    partes: dict[str, bytes] = {}
    if "boundary=" in tipo:
        separador = b"--" + tipo.partition("boundary=")[2].strip('"; ').encode()
        for parte in corpo.split(separador)[1:-1]:
            cabeca, _, conteudo = parte.partition(b"\r\n\r\n")
            nome = cabeca.partition(b'name="')[2].partition(b'"')[0].decode()
            partes[nome] = conteudo.removesuffix(b"\r\n")
    eventos = json.loads(partes.get("lote", corpo))["eventos"]
    return [
        Captura(id=evento["id_evento"], evento=evento, recorte=partes.get(f"recorte-{evento['id_evento']}"))
        for evento in eventos
    ]


def _sortear_id(sorteio: Random) -> str:
    return str(UUID(int=sorteio.getrandbits(128), version=4))


def _desenhar(sorteio: Random) -> bytes:
    """Um JPEG de 64 × 48 a 512 × 384, de conteúdo sorteado."""
    escala = sorteio.randrange(1, 9)
    imagem = Image.frombytes("L", (16, 12), sorteio.randbytes(192)).resize((64 * escala, 48 * escala))
    saida = BytesIO()
    imagem.convert("RGB").save(saida, "JPEG", quality=85)
    return saida.getvalue()


def _com_dimensoes(imagem: bytes, largura: int, altura: int) -> bytes:
    """O mesmo JPEG dizendo ter outro tamanho."""
    inicio = imagem.index(b"\xff\xc0") + 5
    return imagem[:inicio] + altura.to_bytes(2, "big") + largura.to_bytes(2, "big") + imagem[inicio + 4 :]
