"""A descrição OpenAPI das rotas de recibos."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter

from dlr.dominio.estados import Estado
from dlr.models import TipoDeExcecao

ERRO = {
    "type": "object",
    "required": ["detail", "codigo"],
    "properties": {"detail": {"type": "string"}, "codigo": {"type": "string"}},
}
_TEXTO = {"type": ["string", "null"]}
_INSTANTE = {"type": ["string", "null"], "format": "date-time"}
_ID = OpenApiParameter("id_da_mensagem", int, OpenApiParameter.PATH)

MENSAGEM_ENVIADA = {
    "type": "object",
    "properties": {
        "id_interno": {
            **_TEXTO,
            "maxLength": 200,
            "description": "Seu, imutável; torna o registro repetível.",
        },
        "ids_externos": {
            "type": ["array", "null"],
            "maxItems": 255,
            "items": {
                "type": "object",
                "required": ["valor"],
                "properties": {
                    "valor": {"type": "string", "maxLength": 200},
                    "parte": {"type": ["integer", "null"], "minimum": 1, "maximum": 255},
                },
            },
        },
        "origem": {**_TEXTO, "maxLength": 100},
        "destino": {**_TEXTO, "maxLength": 100},
        "rota": {**_TEXTO, "maxLength": 200},
        "registered_delivery": {"type": ["integer", "null"], "minimum": 0, "maximum": 255},
        "apresentada_em": _INSTANTE,
        "aceita": {"type": ["boolean", "null"]},
    },
}


def _erros(*status: int) -> dict[tuple[int, str], Any]:
    return {(um, "application/json"): ERRO for um in status}


REGISTRO: dict[str, Any] = {
    "operation_id": "registrar_mensagens",
    "summary": "Registrar mensagens enviadas (até 1.000)",
    "tags": ["recibos"],
    "request": {
        "application/json": {
            "type": "object",
            "required": ["mensagens"],
            "properties": {"mensagens": {"type": "array", "maxItems": 1000, "items": MENSAGEM_ENVIADA}},
        }
    },
    "responses": {
        (200, "application/json"): {
            "type": "object",
            "required": ["resultados"],
            "properties": {
                "resultados": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "required": ["indice"],
                        "properties": {
                            "indice": {"type": "integer"},
                            "id": {"type": "integer"},
                            "id_interno": {"type": "string"},
                            "codigo": {"type": "string"},
                            "detalhe": {"type": "string"},
                        },
                    },
                }
            },
        },
        **_erros(400, 401, 413, 503),
    },
}

CALLBACK: dict[str, Any] = {
    "summary": "Callback de recibos da transportadora",
    "description": "O corpo, o método e a resposta de sucesso são os do formato da integração. Autêntica, a chamada é "
    "gravada e confirmada mesmo que não se possa ler.",
    "tags": ["recibos"],
    "request": {"application/json": {}, "application/x-www-form-urlencoded": {}, "text/plain": {}},
    "responses": {
        (200, "text/plain"): {"type": "string"},
        (202, "text/plain"): {"type": "string"},
        **_erros(400, 401, 403, 404, 405, 413, 503),
    },
}

MENSAGEM: dict[str, Any] = {
    "operation_id": "ver_mensagem",
    "summary": "A mensagem explicada: aceitação, estado do DLR e verificação, com a história inteira",
    "tags": ["recibos"],
    "parameters": [_ID],
    "responses": {
        (200, "application/json"): {
            "type": "object",
            "required": [
                "mensagem",
                "aceitacao",
                "dlr",
                "verificacao_independente",
                "eventos",
                "recepcoes",
                "excecoes",
            ],
            "properties": {
                "mensagem": {"type": "object"},
                "aceitacao": {"type": "object"},
                "dlr": {
                    "type": "object",
                    "properties": {
                        "estado": {"type": ["string", "null"], "enum": [*Estado, None]},
                        "final": {"type": "boolean"},
                        "motivo": {"type": "string"},
                        "sustentam": {"type": "array", "items": {"type": "integer"}},
                    },
                },
                "verificacao_independente": {"type": "array", "items": {"type": "object"}},
                "eventos": {"type": "array", "items": {"type": "object"}},
                "recepcoes": {"type": "array", "items": {"type": "object"}},
                "excecoes": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"tipo": {"type": "string", "enum": TipoDeExcecao.values}},
                    },
                },
            },
        },
        **_erros(401, 404, 503),
    },
}

VERIFICACAO: dict[str, Any] = {
    "operation_id": "registrar_verificacao",
    "summary": "Registrar uma verificação independente do DLR",
    "tags": ["recibos"],
    "parameters": [_ID],
    "request": {
        "application/json": {
            "type": "object",
            "required": ["origem", "ocorrida_em"],
            "properties": {
                "origem": {"type": "string", "minLength": 1, "maxLength": 120},
                "ocorrida_em": {"type": "string", "format": "date-time"},
                "detalhe": {**_TEXTO, "maxLength": 500},
            },
        }
    },
    "responses": {
        (201, "application/json"): {"type": "object", "properties": {"id": {"type": "integer"}}},
        **_erros(400, 401, 404, 503),
    },
}

RELATORIO: dict[str, Any] = {
    "operation_id": "relatorio_dlr",
    "summary": "Contagens por aceitação, estado do DLR e verificação",
    "tags": ["recibos"],
    "parameters": [
        OpenApiParameter("de", str, description="ISO 8601; padrão: sete dias atrás."),
        OpenApiParameter("ate", str, description="ISO 8601; padrão: agora."),
        OpenApiParameter("integracao", str, description="O slug da integração do token."),
        OpenApiParameter("formato", str, enum=["json", "csv"]),
    ],
    "responses": {
        (200, "application/json"): {
            "type": "object",
            "required": ["linhas"],
            "properties": {"linhas": {"type": "array", "items": {"type": "object"}}},
        },
        (200, "text/csv"): {"type": "string"},
        **_erros(400, 401, 403, 503),
    },
}
