"""A descrição OpenAPI das rotas dos aparelhos: o que cada uma aceita e cada status que devolve."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from ingestao.capturas.leitura import (
    EVENTOS_POR_LOTE,
    PAYLOAD_MAXIMO_BYTES,
    QUADRO_MAXIMO_BYTES,
    QUADRO_MAXIMO_PX,
)
from ingestao.capturas.relatos import DESCARTADOS_MAXIMO
from ingestao.eventos.esquema import ERRO
from ingestao.models import MotivoIndisponivel

_INTEIRO = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}
_LADO = {"type": "integer", "minimum": 1, "maximum": QUADRO_MAXIMO_PX}
_POSICAO = {"type": "integer", "minimum": 0, "maximum": QUADRO_MAXIMO_PX}
_UUID = {"type": "string", "format": "uuid"}
_INSTANTE = {"type": "string", "format": "date-time"}
_SHA256 = {"type": "string", "pattern": "^[0-9a-fA-F]{64}$"}
_ETIQUETA = {"type": "string", "maxLength": 60}
_DESCARTADOS = {
    "type": ["object", "null"],
    "additionalProperties": {"type": "integer", "minimum": 0, "maximum": DESCARTADOS_MAXIMO},
    "description": "Motivo → quantos, desde o último ACK. Aplicado uma vez por `relato_id`.",
}
_LATENCIAS = {
    "type": ["array", "null"],
    "maxItems": 1000,
    "items": {
        "type": "object",
        "required": ["id_evento", "ms"],
        "properties": {"id_evento": _UUID, "ms": {"type": "number", "minimum": 0}},
    },
    "description": "Da captura ao ACK, medidas no aparelho. Aplicada uma vez por captura.",
}

EVENTO = {
    "type": "object",
    "required": ["id_evento", "capturado_em", "seq", "payload"],
    "properties": {
        "id_evento": {
            **_UUID,
            "description": "Feito no aparelho, na captura; reenviar o mesmo acerta a mesma linha.",
        },
        "capturado_em": _INSTANTE,
        "idade_ms": {"type": ["integer", "null"], "minimum": 0, "description": "Idade monotônica no envio."},
        "seq": _INTEIRO,
        "tentativa": {"type": "integer", "minimum": 1, "maximum": 2**31 - 1, "default": 1},
        "payload": {"description": f"Qualquer JSON, até {PAYLOAD_MAXIMO_BYTES} bytes e 32 níveis."},
        "quadro": {
            "type": ["object", "null"],
            "required": ["largura", "altura", "bytes", "sha256"],
            "properties": {
                "largura": _LADO,
                "altura": _LADO,
                "bytes": {"type": "integer", "minimum": 1, "maximum": QUADRO_MAXIMO_BYTES},
                "sha256": _SHA256,
                "expira_em": {"type": ["string", "null"], "format": "date-time"},
            },
        },
        "caixa": {
            "type": ["object", "null"],
            "required": ["x", "y", "largura", "altura"],
            "properties": {
                "x": _POSICAO,
                "y": _POSICAO,
                "largura": _LADO,
                "altura": _LADO,
                "margem": _POSICAO,
            },
        },
        "sem_recorte": {**_ETIQUETA, "description": "Por que o evento vem sem imagem."},
    },
}
LOTE = {
    "type": "object",
    "required": ["eventos"],
    "properties": {
        "lote_id": {"type": ["string", "null"]},
        "enviado_em": {"type": ["string", "null"]},
        "boot_id": {"type": ["string", "null"]},
        "relato_id": {"type": ["string", "null"], "maxLength": 64},
        "descartados": _DESCARTADOS,
        "latencias": _LATENCIAS,
        "eventos": {"type": "array", "maxItems": EVENTOS_POR_LOTE, "items": EVENTO},
    },
}
LOTE_EM_PARTES = {
    "type": "object",
    "required": ["lote"],
    "properties": {"lote": LOTE},
    "additionalProperties": {
        "type": "string",
        "format": "binary",
        "description": "`recorte-<id_evento>`: o JPEG do evento.",
    },
}
PULSO_CORPO = {
    "type": "object",
    "properties": {
        "enviado_em": {"type": ["string", "null"]},
        "boot_id": {"type": ["string", "null"]},
        "versao": {"type": ["string", "null"]},
        "fila": {
            "type": ["object", "null"],
            "properties": {"qtd": _INTEIRO, "mais_antigo_s": {"type": "number", "minimum": 0}},
        },
        "disco_livre_bytes": _INTEIRO,
        "quarentena": _INTEIRO,
        "quadros": {"type": ["object", "null"], "properties": {"qtd": _INTEIRO, "bytes": _INTEIRO}},
        "relato_id": {"type": ["string", "null"], "maxLength": 64},
        "descartados": _DESCARTADOS,
        "latencias": _LATENCIAS,
        "relogio_suspeito": {"type": ["boolean", "null"]},
    },
}
_PEDIDOS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["id", "id_evento", "vence_em", "bytes", "sha256", "offset"],
        "properties": {
            "id": _UUID,
            "id_evento": _UUID,
            "vence_em": _INSTANTE,
            "bytes": _INTEIRO,
            "sha256": _SHA256,
            "offset": _INTEIRO,
        },
    },
}
_GRAVADO = {
    "type": "object",
    "required": ["id_evento", "situacao", "gravado_em"],
    "properties": {
        "id_evento": _UUID,
        "situacao": {"const": "gravado"},
        "gravado_em": {**_INSTANTE, "description": "O da linha: um reenvio recebe os mesmos bytes."},
    },
    "additionalProperties": False,
}
_NAO_GRAVADO = {
    "type": "object",
    "required": ["id_evento", "situacao", "codigo", "indice", "detail"],
    "properties": {
        "id_evento": {"type": ["string", "null"], "format": "uuid"},
        "situacao": {"enum": ["conflito", "invalido"]},
        "codigo": {
            "enum": [
                "campo_ausente",
                "campo_invalido",
                "conteudo_diferente",
                "id_de_outro_dispositivo",
                "id_evento_invalido",
                "imagem_cortada",
                "imagem_grande",
                "imagem_nao_jpeg",
                "imagem_pixels_demais",
                "payload_grande",
                "recorte_ausente",
            ]
        },
        "indice": {"type": "integer", "minimum": 0},
        "detail": {"type": "string"},
    },
}
_CONTATO = {
    "type": "object",
    "required": ["pedidos", "hora_servidor"],
    "properties": {"pedidos": _PEDIDOS, "hora_servidor": _INSTANTE},
}
_RESULTADOS = {
    "type": "object",
    "required": ["resultados", "pedidos", "hora_servidor"],
    "properties": {
        "resultados": {"type": "array", "items": {"oneOf": [_GRAVADO, _NAO_GRAVADO]}},
        "pedidos": _PEDIDOS,
        "hora_servidor": _INSTANTE,
    },
}
TEXTOS = {
    400: "Ilegível: `corpo_ilegivel`, `lote_invalido`, `campo_invalido` ou `corpo_incompleto`.",
    401: "`token_ausente` ou `token_desconhecido`.",
    403: "`dispositivo_revogado`: o aparelho foi desligado; a fila dele espera.",
    404: "`pedido_desconhecido`: não há, ou é de outro dispositivo.",
    408: "`corpo_incompleto`: o corpo parou de chegar.",
    409: "`offset_errado`; `Upload-Offset` diz onde continuar.",
    410: "`pedido_encerrado`: atendido, vencido ou cancelado.",
    412: "`versao_do_tus`: falta `Tus-Resumable: 1.0.0`.",
    413: "`corpo_grande`, `eventos_demais` ou `quadro_grande`.",
    415: "`codificacao_desconhecida` ou `tipo_de_conteudo_desconhecido`.",
    460: "`hash_divergente`: o SHA-256 não é o da captura; envie de novo do começo.",
    503: "Nada foi guardado: `armazenamento_indisponivel`, `deposito_indisponivel`, `espera_cheia` ou `porta_cheia`; "
    "ou não se sabe se foi: `armazenamento_lento`. Há `Retry-After`.",
}
_AUTORIZACAO = OpenApiParameter(
    "Authorization", str, OpenApiParameter.HEADER, description="`Bearer <token do dispositivo>`."
)
_VERSAO = OpenApiParameter("Tus-Resumable", str, OpenApiParameter.HEADER, enum=["1.0.0"])
_OFFSET = OpenApiParameter("Upload-Offset", int, OpenApiParameter.HEADER, description="Onde o pedaço começa.")
_PEDIDO_ID = OpenApiParameter("pedido_id", {"type": "string", "format": "uuid"}, OpenApiParameter.PATH)


def _erros(*status: int) -> dict[tuple[int, str], Any]:
    return {(um, "application/json"): {**ERRO, "description": TEXTOS[um]} for um in status}


_EXEMPLO = {
    "enviado_em": "2026-11-30T18:00:00Z",
    "boot_id": "6f1d",
    "descartados": {},
    "latencias": [],
    "eventos": [
        {
            "id_evento": "0b9f6c1e-3a56-4c57-8a2e-9c1b7f6f2f10",
            "capturado_em": "2026-11-30T17:59:59Z",
            "idade_ms": 830,
            "seq": 17,
            "tentativa": 1,
            "payload": {"placa": "ABC1D23", "confianca": 0.93},
            "quadro": None,
            "caixa": None,
            "sem_recorte": "caixa_invalida",
        }
    ],
}

INGESTAO: dict[str, Any] = {
    "operation_id": "ingestao_de_capturas",
    "summary": "Receber um lote de capturas de um aparelho",
    "description": "O 200 só sai depois do COMMIT, com um resultado por evento, na ordem. Um evento ruim não "
    "estraga os outros. Um reenvio recebe, byte a byte, o mesmo resultado da primeira vez.",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [_AUTORIZACAO],
    "request": {"application/json": LOTE, "multipart/form-data": LOTE_EM_PARTES},
    "examples": [
        OpenApiExample(
            "Um evento sem imagem", value=_EXEMPLO, request_only=True, media_type="application/json"
        )
    ],
    "responses": {(200, "application/json"): _RESULTADOS, **_erros(400, 401, 403, 408, 413, 415, 503)},
}
PULSO: dict[str, Any] = {
    "operation_id": "pulso_de_aparelho",
    "summary": "O estado de um aparelho: fila, disco, quarentena, descartes",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [_AUTORIZACAO],
    "request": {"application/json": PULSO_CORPO},
    "responses": {(200, "application/json"): _CONTATO, **_erros(400, 401, 403, 408, 413, 503)},
}
PEDIDOS: dict[str, Any] = {
    "operation_id": "pedidos_de_quadro",
    "summary": "Os quadros que se espera deste aparelho (long poll)",
    "description": "Responde assim que houver um pedido aberto, ou vazio no fim da espera.",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [
        _AUTORIZACAO,
        OpenApiParameter(
            "espera_s", {"type": "number", "minimum": 0, "maximum": 25, "default": 0}, OpenApiParameter.QUERY
        ),
    ],
    "responses": {(200, "application/json"): _CONTATO, **_erros(400, 401, 403, 503)},
}
VER_ENVIO: dict[str, Any] = {
    "operation_id": "ver_envio_de_quadro",
    "summary": "Onde o envio de um quadro parou (tus 1.0.0)",
    "description": "`Upload-Offset` e `Upload-Length`. Um pedido já atendido diz que está completo.",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [_AUTORIZACAO, _VERSAO, _PEDIDO_ID],
    "responses": {200: None, **dict.fromkeys((401, 403, 404, 410, 412, 503))},
}
ENVIAR_PEDACO: dict[str, Any] = {
    "operation_id": "enviar_pedaco_de_quadro",
    "summary": "Mandar um pedaço de um quadro (tus 1.0.0)",
    "description": "O 204 só sai depois do COMMIT do pedaço; no último, depois de o SHA-256 conferir e de o arquivo "
    "estar gravado. Pedaços de até 4 MiB; 256 KiB é o recomendado.",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [_AUTORIZACAO, _VERSAO, _OFFSET, _PEDIDO_ID],
    "request": {"application/offset+octet-stream": {"type": "string", "format": "binary"}},
    "responses": {204: None, **_erros(400, 401, 403, 404, 408, 409, 410, 412, 413, 415, 460, 503)},
}
INDISPONIVEL: dict[str, Any] = {
    "operation_id": "quadro_indisponivel",
    "summary": "Dizer que o aparelho não tem mais o quadro",
    "tags": ["aparelhos"],
    "auth": [],
    "parameters": [_AUTORIZACAO, _PEDIDO_ID],
    "request": {
        "application/json": {
            "type": "object",
            "required": ["motivo"],
            "properties": {"motivo": {"type": "string", "enum": MotivoIndisponivel.values}},
        }
    },
    "responses": {
        (200, "application/json"): {
            "type": "object",
            "required": ["situacao"],
            "properties": {"situacao": {"const": "indisponivel"}},
        },
        **_erros(400, 401, 403, 404, 408, 410, 413, 503),
    },
}
