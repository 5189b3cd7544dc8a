"""A descrição OpenAPI da ingestão: o que a rota aceita e cada status que ela devolve."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from ingestao.eventos.leitura import (
    CORTES,
    EVENTOS_POR_LOTE,
    ID_CARACTERES,
    PAGINA_CARACTERES,
    SESSAO_CARACTERES,
    TIPOS,
)

_TEXTO = {"type": ["string", "null"]}
_INTEIRO = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**31 - 1}

EVENTO = {
    "type": "object",
    "required": ["evento_id", "tipo"],
    "properties": {
        "evento_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": ID_CARACTERES,
            "description": "Feito no site, no momento do evento; reenviar o mesmo não duplica.",
        },
        "tipo": {"type": "string", "enum": sorted(TIPOS)},
        "ocorrido_em": {
            "type": ["string", "number", "null"],
            "description": "ISO 8601 (sem fuso = UTC) ou milissegundos desde 1970.",
        },
        **{
            campo: {**_TEXTO, "description": f"Cortado em {limite} caracteres."}
            for campo, limite in CORTES.items()
        },
        "linha": _INTEIRO,
        "coluna": _INTEIRO,
        "status": _INTEIRO,
        "duracao_ms": {"type": ["number", "null"], "minimum": 0, "maximum": 2**31 - 1},
        "valor": {"type": ["number", "null"]},
        "payload": {"description": "Qualquer JSON, até 32 níveis."},
    },
}
LOTE = {
    "type": "object",
    "required": ["chave", "sessao", "eventos"],
    "properties": {
        "chave": {"type": "string", "description": "A chave pública do aplicativo (pk_…)."},
        "sessao": {
            "type": "object",
            "required": ["sessao_externa"],
            "properties": {
                "sessao_externa": {"type": "string", "minLength": 1, "maxLength": SESSAO_CARACTERES},
                "anonimo_id": _TEXTO,
                "usuario_id": _TEXTO,
                "navegador": _TEXTO,
                "sistema_operacional": _TEXTO,
                "dispositivo": _TEXTO,
                "resolucao": _TEXTO,
                "pagina_inicial": {**_TEXTO, "description": f"Cortada em {PAGINA_CARACTERES} caracteres."},
            },
        },
        "eventos": {
            "type": "array",
            "items": EVENTO,
            "description": f"Do {EVENTOS_POR_LOTE + 1}º em diante são recusados (`lote_cheio`).",
        },
    },
}
RECIBO = {
    "type": "object",
    "required": ["aceitos", "recusados", "recusas"],
    "properties": {
        "aceitos": {
            "type": "integer",
            "minimum": 0,
            "description": "Eventos gravados na caixa, PULSO incluído.",
        },
        "recusados": {"type": "integer", "minimum": 0},
        "recusas": {
            "type": "array",
            "maxItems": 50,
            "description": "As primeiras 50.",
            "items": {
                "type": "object",
                "required": ["indice", "codigo"],
                "properties": {
                    "indice": {"type": "integer", "minimum": 0},
                    "codigo": {
                        "type": "string",
                        "enum": [
                            "evento_id_invalido",
                            "evento_invalido",
                            "lote_cheio",
                            "numero_fora_do_intervalo",
                            "payload_grande",
                            "payload_profundo",
                            "tipo_invalido",
                        ],
                    },
                },
            },
        },
    },
}
ERRO = {
    "type": "object",
    "required": ["detail", "codigo"],
    "properties": {
        "detail": {"type": "string", "description": "Uma frase que diz o que fazer."},
        "codigo": {"type": "string", "description": "Estável, para máquinas."},
    },
}
RECUSAS = {
    400: "Corpo ilegível ou que não é um lote: `json_invalido`, `gzip_invalido`, `lote_invalido`, `chave_ausente`, "
    "`eventos_ausentes`, `sessao_invalida`, `corpo_incompleto`.",
    401: "`chave_desconhecida`.",
    402: "`franquia_estourada`: franquia do mês esgotada com a política PARAR_INGESTAO.",
    403: "`origem_nao_autorizada`: nem `Origin` nem `Referer` são de um domínio do aplicativo.",
    408: "`corpo_incompleto`: o corpo parou de chegar.",
    413: "`corpo_grande` (mais de 1 MiB) ou `corpo_inflado_grande` (mais de 8 MiB descompactado).",
    415: "`codificacao_desconhecida`: só gzip.",
    429: "`limite_por_minuto`; `Retry-After` diz quantos segundos esperar.",
    503: "Nada foi guardado: `armazenamento_indisponivel`, `fila_cheia` ou `porta_cheia`; "
    "ou não se sabe se foi: `armazenamento_lento`. Há `Retry-After`.",
}

_EXEMPLO = {
    "chave": "pk_live_exemplo",
    "sessao": {"sessao_externa": "s-1", "navegador": "Chromium"},
    "eventos": [
        {
            "evento_id": "0b9f6c1e-3a56-4c57-8a2e-9c1b7f6f2f10",
            "tipo": "ERRO_JS",
            "nome": "TypeError",
            "mensagem": "x is not a function",
            "ocorrido_em": "2026-11-30T12:00:00Z",
        }
    ],
}

INGESTAO: dict[str, Any] = {
    "operation_id": "ingestao_de_eventos",
    "summary": "Receber um lote de eventos de um site",
    "description": "O 202 só sai depois que o lote está gravado. Reenviar o mesmo lote não duplica nada. "
    "O corpo pode vir com `Content-Encoding: gzip` e com qualquer `Content-Type`.",
    "tags": ["sites"],
    "auth": [],
    "parameters": [
        OpenApiParameter("Origin", str, OpenApiParameter.HEADER, description="Mandado pelo navegador."),
        OpenApiParameter("Referer", str, OpenApiParameter.HEADER, description="Usado na falta de Origin."),
    ],
    "request": {"application/json": LOTE, "text/plain": LOTE},
    "examples": [OpenApiExample("Um erro", value=_EXEMPLO, request_only=True)],
    "responses": {
        (202, "application/json"): RECIBO,
        **{(status, "application/json"): {**ERRO, "description": texto} for status, texto in RECUSAS.items()},
    },
}


def exigir_corpo(result: dict[str, Any], generator: Any, request: Any, public: bool) -> dict[str, Any]:
    """Gancho do drf-spectacular: todo corpo descrito é obrigatório (ele não o diz de esquemas crus)."""
    for rota in result["paths"].values():
        for operacao in rota.values():
            if "requestBody" in operacao:
                operacao["requestBody"]["required"] = True
    return result
