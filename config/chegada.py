"""O que a porta entrega a uma rota direta, e o que recebe de volta. Puro: nem Django, nem banco."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson


class Chegada(NamedTuple):
    """Uma requisição inteira, como chegou.

    `cabecalhos` tem nomes em minúsculas, com os repetidos já juntados; `partes` são as do caminho que a rota
    nomeia; `esquema` é o da conexão (`http` ou `https`), sem olhar o que um proxy anotou.
    """

    metodo: str
    caminho: str
    consulta: bytes
    cabecalhos: Mapping[str, str]
    corpo: bytes
    ip: str = ""
    servidor: str = ""
    esquema: str = "http"
    partes: Mapping[str, str | None] = {}


class Pedido:
    """Uma chegada e quem espera a resposta dela, se alguém espera."""

    __slots__ = ("_resposta", "chegada")

    def __init__(self, chegada: Chegada, resposta: "asyncio.Future[Any] | None" = None) -> None:
        self.chegada = chegada
        self._resposta = resposta

    @property
    def desistiu(self) -> bool:
        """O prazo venceu ou a conexão se foi: gravar agora seria guardar o que já se disse não ter guardado."""
        return self._resposta is not None and self._resposta.done()


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """O que sai: status HTTP, corpo em bytes e, se for o caso, `Retry-After` em segundos."""

    status: int
    corpo: bytes = b""
    espera_s: int | None = None
    tipo: str = "application/json"


def responder_erro(status: int, codigo: str, detalhe: str, espera_s: int | None = None) -> Resposta:
    """`{"detail": …, "codigo": …}`, a forma de todo erro."""
    return Resposta(
        status=status, corpo=orjson.dumps({"detail": detalhe, "codigo": codigo}), espera_s=espera_s
    )


# Um defeito nosso: o registro tem o que houve; a resposta, não.
DEFEITO = responder_erro(
    500, "erro_interno", "Erro interno; nada foi confirmado. Reenvie em instantes.", espera_s=5
)
