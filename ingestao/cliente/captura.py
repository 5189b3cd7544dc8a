"""Um quadro e as suas detecções → os eventos prontos para a fila. Não grava nem envia."""

from __future__ import annotations

import hashlib
import io
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Union

from PIL import Image

from .erros import CapturaInvalida
from .fila import EventoNovo
from .recorte import Corte, SemRecorte, cortar, ler_caixa, prender, unir

MAX_PAYLOAD_BYTES = 64 * 1024  # do protocolo; além disto o servidor recusaria para sempre
MAX_PIXELS = 80_000_000  # dois quadros 8K; acima, a memória da placa não aguenta
QUALIDADE_DO_QUADRO = 90  # só de quem chega como imagem na memória; JPEG pronto fica como veio

Quadro = Union[bytes, str, Path, Image.Image, None]
Payload = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]


@dataclass(frozen=True)
class RegraDeRecorte:
    """Como cortar. `uniao`: um evento com a caixa que contém todas; senão, um evento por detecção."""

    margem_px: int
    lado_minimo_px: int
    qualidade: int
    uniao: bool


@dataclass(frozen=True)
class QuadroLido:
    """Os bytes do quadro (None se não há), e a imagem, se decodificou. `motivo` diz por que não."""

    conteudo: bytes | None
    imagem: Image.Image | None
    sha256: str
    motivo: str | None

    def descrever(self, expira_em: str) -> dict[str, Any] | None:
        """O `quadro` do protocolo; None sem imagem legível."""
        if self.imagem is None or self.conteudo is None:
            return None
        largura, altura = self.imagem.size
        return {
            "largura": largura,
            "altura": altura,
            "bytes": len(self.conteudo),
            "sha256": self.sha256,
            "expira_em": expira_em,
        }


@dataclass(frozen=True)
class Deteccao:
    """O que vira um evento: o corte e o JPEG dele, ou o motivo de não haver; e o payload."""

    corte: Corte | None
    recorte: bytes | None
    motivo: str | None
    payload: Mapping[str, Any]


def ler_quadro(quadro: Quadro) -> QuadroLido:
    """Bytes, caminho ou imagem → quadro lido. O que não é imagem não levanta: o evento vai sem recorte."""
    if quadro is None:
        return QuadroLido(None, None, "", "sem_quadro")
    if isinstance(quadro, Image.Image):
        return _lido(_codificar(quadro), quadro)
    try:
        conteudo = quadro if isinstance(quadro, bytes) else Path(quadro).read_bytes()
    except OSError:
        return QuadroLido(None, None, "", "quadro_ilegivel")
    try:
        imagem = Image.open(io.BytesIO(conteudo))
        if imagem.width * imagem.height > MAX_PIXELS:  # antes de decodificar: o cabeçalho pode mentir
            return QuadroLido(None, None, "", "quadro_ilegivel")
        imagem.load()
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return QuadroLido(None, None, "", "quadro_ilegivel")
    return _lido(conteudo if imagem.format == "JPEG" else _codificar(imagem), imagem)


def detectar(
    lido: QuadroLido, caixas: Sequence[Any] | None, payload: Payload, regra: RegraDeRecorte
) -> list[Deteccao]:
    """Uma detecção por caixa, ou uma só com a união. Levanta CapturaInvalida pelo payload, nunca pela caixa."""
    payloads = _um_por_caixa(payload, caixas, uniao=regra.uniao)
    if not caixas:
        return [Deteccao(None, None, lido.motivo or "sem_caixa", payloads[0])]
    if not regra.uniao:
        return [_detectar(lido, [caixa], um, regra) for caixa, um in zip(caixas, payloads)]
    return [_detectar(lido, caixas, payloads[0], regra)]


def montar_evento(
    deteccao: Deteccao,
    quadro: dict[str, Any] | None,
    *,
    capturado_em: str,
    boot_id: str,
    mono_ms: int,
    relogio_suspeito: bool,
) -> EventoNovo:
    """O evento com o seu id, que nasce aqui e nunca muda. Levanta CapturaInvalida se o payload não é JSON."""
    corpo: dict[str, Any] = {
        "capturado_em": capturado_em,
        "payload": _conferir_payload(deteccao.payload),
        "quadro": quadro,
        "caixa": asdict(deteccao.corte) if deteccao.corte else None,
    }
    if deteccao.motivo:
        corpo["sem_recorte"] = deteccao.motivo
    if relogio_suspeito:
        corpo["relogio_suspeito"] = True
    return EventoNovo(
        id_evento=str(uuid.uuid4()),
        corpo=json.dumps(corpo, separators=(",", ":")),
        recorte=deteccao.recorte,
        capturado_em=capturado_em,
        boot_id=boot_id,
        mono_ms=mono_ms,
    )


def _lido(conteudo: bytes, imagem: Image.Image) -> QuadroLido:
    return QuadroLido(conteudo, imagem, hashlib.sha256(conteudo).hexdigest(), None)


def _codificar(imagem: Image.Image) -> bytes:
    saida = io.BytesIO()
    (imagem if imagem.mode in ("RGB", "L") else imagem.convert("RGB")).save(
        saida, "JPEG", quality=QUALIDADE_DO_QUADRO
    )
    return saida.getvalue()


def _detectar(
    lido: QuadroLido, caixas: Sequence[Any], payload: Mapping[str, Any], regra: RegraDeRecorte
) -> Deteccao:
    if lido.imagem is None:
        return Deteccao(None, None, lido.motivo, payload)
    largura, altura = lido.imagem.size
    try:
        corte = prender(
            _ler_caixas(caixas),
            largura_quadro=largura,
            altura_quadro=altura,
            margem_px=regra.margem_px,
            lado_minimo_px=regra.lado_minimo_px,
        )
        return Deteccao(corte, cortar(lido.imagem, corte, qualidade=regra.qualidade), None, payload)
    except SemRecorte as erro:
        return Deteccao(None, None, erro.motivo, payload)


def _ler_caixas(caixas: Sequence[Any]) -> Any:
    """A união das que se leem; se nenhuma se lê, o erro da última."""
    lidas = []
    for caixa in caixas:
        try:
            lidas.append(ler_caixa(caixa))
        except SemRecorte:
            if len(caixas) == 1:
                raise
    if not lidas:
        raise SemRecorte("caixa_invalida")
    return unir(lidas)


def _um_por_caixa(
    payload: Payload, caixas: Sequence[Any] | None, *, uniao: bool
) -> Sequence[Mapping[str, Any]]:
    esperados = 1 if uniao or not caixas else len(caixas)
    if isinstance(payload, Mapping):
        return [payload] * esperados
    if not isinstance(payload, (list, tuple)) or len(payload) != esperados:
        raise CapturaInvalida(f"O payload é um objeto, ou uma lista com {esperados}: um por evento.")
    return payload


def _conferir_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    try:
        texto = json.dumps(payload, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as erro:
        raise CapturaInvalida(f"O payload não vira JSON ({erro}). NaN e infinito também não.") from erro
    if not isinstance(payload, Mapping):
        raise CapturaInvalida("O payload de cada evento precisa ser um objeto.")
    tamanho = len(texto.encode("utf-8", "surrogatepass"))
    if tamanho > MAX_PAYLOAD_BYTES:
        raise CapturaInvalida(f"O payload tem {tamanho} bytes; o limite é {MAX_PAYLOAD_BYTES}.")
    return dict(payload)
