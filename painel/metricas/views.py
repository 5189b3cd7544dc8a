"""A rota `/metricas`: acesso, um de cada vez, cache de segundos."""

import threading
import time

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from config.contagem import ler_respostas
from painel.metricas.acesso import Acesso, decidir
from painel.metricas.familias import ColetorDoLastro, ColetorSemBanco

ESPERA_S = 0.5  # uma coleta leva dezenas de milissegundos
VALIDADE_S = 3.0  # um Prometheus pergunta a cada 15 s; isto só protege de muitos perguntando juntos
RECUSAS = {
    Acesso.SEM_TOKEN: (401, "token_invalido", "Mande Authorization: Bearer com o LASTRO_TOKEN_METRICAS."),
    Acesso.DE_FORA: (
        403,
        "rede_nao_permitida",
        "As métricas só abrem desta máquina; cadastre LASTRO_TOKEN_METRICAS ou LASTRO_REDES_METRICAS.",
    ),
}


class Coleta:
    """As respostas de agora e o que o banco disse há instantes, refeito por um só de cada vez."""

    def __init__(self) -> None:
        self._trava = threading.Lock()
        self._feita_em = float("-inf")
        self._do_banco = b""

    def ler(self) -> bytes:
        """A página. Com outra coleta presa no banco, só a contagem da porta: esperar prenderia mais threads."""
        return generate_latest(ler_respostas()) + self._ler_do_banco()

    def _ler_do_banco(self) -> bytes:
        if not self._trava.acquire(timeout=ESPERA_S):
            return _escrever(ColetorSemBanco())
        try:
            if time.monotonic() - self._feita_em > VALIDADE_S:
                self._do_banco = _escrever(ColetorDoLastro())
                self._feita_em = time.monotonic()
            return self._do_banco
        finally:
            self._trava.release()

    def esquecer(self) -> None:
        """A próxima leitura refaz a página."""
        self._feita_em = float("-inf")


def _escrever(coletor: Collector) -> bytes:
    registro = CollectorRegistry()
    registro.register(coletor)
    return generate_latest(registro)


coleta = Coleta()


def metricas(request: HttpRequest) -> HttpResponse:
    """O texto do Prometheus, para quem tem o token ou vem de uma rede permitida."""
    acesso = decidir(
        token=settings.TOKEN_METRICAS,
        autorizacao=request.headers.get("Authorization", ""),
        ip=request.META.get("REMOTE_ADDR", ""),
        redes=settings.REDES_METRICAS,
        # Um proxy calado não escreve cabeçalho nenhum: havendo um à frente, a rede nunca basta.
        repassado=settings.ATRAS_DE_PROXY
        or any(nome in request.headers for nome in ("X-Forwarded-For", "Forwarded", "X-Real-Ip")),
    )
    if acesso is Acesso.LIVRE:
        return HttpResponse(coleta.ler(), content_type=CONTENT_TYPE_PLAIN_0_0_4)
    status, codigo, detalhe = RECUSAS[acesso]
    resposta = JsonResponse({"detail": detalhe, "codigo": codigo}, status=status)
    if status == 401:
        resposta["WWW-Authenticate"] = "Bearer"
    return resposta
