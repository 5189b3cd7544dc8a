"""O cliente HTTP da demonstração: um remetente bem-comportado, que reenvia o que o contrato manda reenviar."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeVar

import orjson
import urllib3

PRAZO_S = 30
INSISTENCIA_S = 120  # depois disto o servidor não está ocupado: está fora do ar
REENVIAR = frozenset({408, 503})
LIMITE_POR_MINUTO = 429
AO_MESMO_TEMPO = 4
ESPERA_MAXIMA_S = 65  # a janela do limite é de um minuto

Item = TypeVar("Item")


class ServidorMudo(Exception):
    """Ninguém responde no endereço; a mensagem diz o que fazer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resposta:
    """O que o servidor disse."""

    status: int
    corpo: bytes
    cabecalhos: Mapping[str, str]

    def json(self) -> Any:
        """O corpo lido."""
        return orjson.loads(self.corpo)


@dataclass(slots=True)
class Cliente:
    """Fala com um Lastro de pé em `url`. Serve a várias threads."""

    url: str
    _conexoes: urllib3.PoolManager = field(init=False)

    def __post_init__(self) -> None:
        self.url = self.url.rstrip("/")
        self._conexoes = urllib3.PoolManager(
            maxsize=AO_MESMO_TEMPO * 2, retries=False, timeout=urllib3.Timeout(PRAZO_S)
        )

    def chamar(
        self,
        metodo: str,
        rota: str,
        corpo: bytes | None = None,
        cabecalhos: Mapping[str, str] | None = None,
        *,
        esperar_a_vez: bool = True,
    ) -> Resposta:
        """Faz a chamada até ter uma resposta que valha. Levanta `ServidorMudo`.

        Sem resposta, 408 ou 503: o mesmo corpo de novo, que a entrada não conta duas vezes. 429: espera a janela,
        a menos que seja a própria recusa o que se quer (`esperar_a_vez=False`).
        """
        limite = time.monotonic() + INSISTENCIA_S
        while True:
            resposta = self._tentar(metodo, rota, corpo, cabecalhos or {})
            status = resposta.status if resposta else 0
            if resposta and status not in REENVIAR and (status != LIMITE_POR_MINUTO or not esperar_a_vez):
                return resposta
            if status == LIMITE_POR_MINUTO:
                limite = time.monotonic() + INSISTENCIA_S  # não é falha: é a vez que ainda não chegou
            if time.monotonic() > limite:
                disse = f"respondeu {status}" if status else "não respondeu"
                raise ServidorMudo(f"{self.url}{rota} {disse} por {INSISTENCIA_S} s: o servidor está de pé?")
            time.sleep(_espera_s(resposta))

    def mandar_json(
        self, rota: str, corpo: Any, cabecalhos: Mapping[str, str] | None = None, **opcoes: Any
    ) -> Resposta:
        """Um POST de JSON."""
        com_tipo = {"Content-Type": "application/json", **(cabecalhos or {})}
        return self.chamar("POST", rota, orjson.dumps(corpo), com_tipo, **opcoes)

    def _tentar(
        self, metodo: str, rota: str, corpo: bytes | None, cabecalhos: Mapping[str, str]
    ) -> Resposta | None:
        try:
            lida = self._conexoes.request(metodo, f"{self.url}{rota}", body=corpo, headers=dict(cabecalhos))
        except urllib3.exceptions.HTTPError:
            return None
        return Resposta(status=lida.status, corpo=lida.data, cabecalhos=lida.headers)


def conferir_de_pe(cliente: Cliente) -> None:
    """Levanta `ServidorMudo` se não há um Lastro pronto no endereço."""
    resposta = cliente._tentar("GET", "/prontidao", None, {})
    if resposta is None or resposta.status != 200:
        disse = "não responde" if resposta is None else f"diz que não está pronto ({resposta.status})"
        raise ServidorMudo(
            f"{cliente.url} {disse}. Suba o servidor (manage.py local) "
            "ou, se ele atende noutra porta, diga-a com PORTA ou --url."
        )


def fazer_ao_mesmo_tempo(
    itens: Iterable[Item], fazer: Callable[[Item], Any], avancar: Callable[[], None]
) -> list[Any]:
    """Faz cada item numa de `AO_MESMO_TEMPO` threads; devolve os resultados na ordem. Nenhuma fala com o banco."""
    with ThreadPoolExecutor(AO_MESMO_TEMPO) as threads:
        resultados = []
        for resultado in threads.map(fazer, itens):
            avancar()
            resultados.append(resultado)
    return resultados


def _espera_s(resposta: Resposta | None) -> float:
    dita = (resposta.cabecalhos.get("Retry-After") or "") if resposta else ""
    return min(ESPERA_MAXIMA_S, float(dita)) if dita.isdigit() else 0.5
