"""Um aparelho de testes: imagens de verdade, lotes como o protocolo os descreve, e o POST deles."""

import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any

from django.test import Client
from PIL import Image

SEPARADOR = "separador-dos-testes"


@lru_cache
def jpeg(largura: int = 64, altura: int = 48, semente: int = 0, *, progressivo: bool = False) -> bytes:
    """Um JPEG de verdade; sementes diferentes dão bytes diferentes."""
    imagem = Image.new("RGB", (largura, altura), (semente % 256, 80, 160))
    imagem.paste((255, semente % 200, 0), (0, 0, largura // 2, altura // 2))
    saida = BytesIO()
    imagem.save(saida, "JPEG", quality=85, progressive=progressivo)
    return saida.getvalue()


def quadro(**mudancas: Any) -> dict[str, Any]:
    """Um quadro descrito como o aparelho descreve."""
    return {
        "largura": 1920,
        "altura": 1080,
        "bytes": 412_345,
        "sha256": "ab" * 32,
        "expira_em": "2026-12-30T18:00:00Z",
        **mudancas,
    }


_sequencia = iter(range(1, 10**9))


def evento(**mudancas: Any) -> dict[str, Any]:
    """Um evento válido, com id próprio, sem imagem; `_ausente` num campo o tira."""
    campos = {
        "id_evento": str(uuid.uuid4()),
        "capturado_em": "2026-11-30T18:00:00Z",
        "idade_ms": None,
        "seq": next(_sequencia),
        "tentativa": 1,
        "payload": {"placa": "ABC1D23", "confianca": 0.93},
        "quadro": None,
        "caixa": None,
        **mudancas,
    }
    return {nome: valor for nome, valor in campos.items() if valor is not AUSENTE}


AUSENTE = object()


def com_caixa(**mudancas: Any) -> dict[str, Any]:
    """Um evento com quadro e caixa: espera-se o recorte dele."""
    caixa = {"x": 100, "y": 80, "largura": 64, "altura": 48, "margem": 16}
    return evento(**{"quadro": quadro(), "caixa": caixa, **mudancas})


def montar_multipart(lote: Any, recortes: Mapping[str, bytes], separador: str = SEPARADOR) -> bytes:
    """O corpo multipart de um lote; `recortes` é id do evento → JPEG."""
    partes = [("lote", "application/json", lote if isinstance(lote, bytes) else json.dumps(lote).encode())]
    partes += [(f"recorte-{id_}", "image/jpeg", imagem) for id_, imagem in recortes.items()]
    corpo = b""
    for nome, tipo, conteudo in partes:
        corpo += (
            f'--{separador}\r\nContent-Disposition: form-data; name="{nome}"; filename="{nome}"\r\n'
            f"Content-Type: {tipo}\r\n\r\n"
        ).encode()
        corpo += conteudo + b"\r\n"
    return corpo + f"--{separador}--\r\n".encode()


TIPO_MULTIPART = f"multipart/form-data; boundary={SEPARADOR}"


@dataclass(slots=True)
class Aparelho:
    """Um dispositivo cadastrado e o token dele."""

    id: uuid.UUID
    token: str

    @property
    def autorizacao(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"}

    def postar(self, eventos: list[Any], recortes: Mapping[str, bytes] | None = None, **envelope: Any) -> Any:
        """Manda um lote: multipart com recortes, JSON sem eles."""
        lote = {"enviado_em": "2026-11-30T18:00:01Z", "boot_id": "b1", **envelope, "eventos": eventos}
        if recortes is None:
            corpo, tipo = json.dumps(lote).encode(), "application/json"
        else:
            corpo, tipo = montar_multipart(lote, recortes), TIPO_MULTIPART
        return self.postar_cru(corpo, tipo)

    def postar_cru(self, corpo: bytes, tipo: str, **cabecalhos: str) -> Any:
        return Client().post(
            "/captura/ingestao", corpo, content_type=tipo, headers={**self.autorizacao, **cabecalhos}
        )

    def pulsar(self, **campos: Any) -> Any:
        return Client().post(
            "/captura/pulso",
            json.dumps(campos).encode(),
            content_type="application/json",
            headers=self.autorizacao,
        )

    def perguntar(self, espera_s: float | str = 0) -> Any:
        return Client().get(f"/captura/pedidos?espera_s={espera_s}", headers=self.autorizacao)

    def ver_envio(self, pedido: Any, **cabecalhos: str) -> Any:
        return Client().head(
            f"/captura/quadros/{pedido}",
            headers={**self.autorizacao, "tus-resumable": "1.0.0", **cabecalhos},
        )

    def enviar_pedaco(self, pedido: Any, offset: int, pedaco: bytes, **cabecalhos: str) -> Any:
        tipo = cabecalhos.pop("tipo", "application/offset+octet-stream")
        return Client().patch(
            f"/captura/quadros/{pedido}",
            pedaco,
            content_type=tipo,
            CONTENT_TYPE=tipo,  # o cliente de testes o esquece com o corpo vazio
            headers={
                **self.autorizacao,
                "tus-resumable": "1.0.0",
                "upload-offset": str(offset),
                **cabecalhos,
            },
        )

    def declarar_indisponivel(self, pedido: Any, motivo: Any) -> Any:
        return Client().post(
            f"/captura/quadros/{pedido}/indisponivel",
            json.dumps({"motivo": motivo}).encode(),
            content_type="application/json",
            headers=self.autorizacao,
        )


def resumir(conteudo: bytes) -> str:
    """SHA-256 em hexadecimal."""
    return hashlib.sha256(conteudo).hexdigest()
