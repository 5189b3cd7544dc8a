"""Recibos para as telas mostrarem: entram pela porta e são aplicados pela caixa, como em produção."""

import json
from dataclasses import dataclass
from datetime import timedelta
from io import StringIO
from typing import Any

from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from dlr.amarracao import atar_soltos, envelhecer
from dlr.autenticacao import memoria
from dlr.models import Integracao
from dlr.porta import teto
from dlr.processamento import CAIXA_DE_RECEPCOES


@dataclass(frozen=True)
class Ligada:
    """Uma integração e o que só quem a criou sabe."""

    id: int
    token: str
    url_callback: str

    @property
    def registro(self) -> Integracao:
        return Integracao.objects.get(pk=self.id)

    def receber(self, corpo: Any, *, aplicar: bool = True, **cabecalhos: str) -> int:
        """A chamada da transportadora; devolve o status."""
        memoria.esquecer()
        teto._medido_em = float("-inf")
        cru = corpo if isinstance(corpo, bytes) else json.dumps(corpo).encode()
        resposta = Client().post(self.url_callback, cru, content_type="application/json", headers=cabecalhos)
        if aplicar:
            balanco = CAIXA_DE_RECEPCOES.esvaziar()
            atar_soltos(timezone.now(), ids=balanco.seguimentos)
        return resposta.status_code

    def registrar(self, id_interno: str, *ids: str, **campos: Any) -> int:
        """Registra uma mensagem aceita; devolve o número dela."""
        mensagem = {
            "id_interno": id_interno,
            "ids_externos": [{"valor": valor} for valor in ids],
            "destino": "+5511999990000",
            "origem": "LOJA",
            "aceita": True,
            **campos,
        }
        resposta = Client().post(
            "/dlr/mensagens",
            json.dumps({"mensagens": [mensagem]}),
            content_type="application/json",
            headers={"authorization": f"Bearer {self.token}"},
        )
        return resposta.json()["resultados"][0]["id"]


def criar(slug: str = "operadora-a", formato: str = "padrao", *opcoes: str) -> Ligada:
    """`criar_integracao`, com as opções `k=v`."""
    saida = StringIO()
    extras = ["--opcao", *opcoes] if opcoes else []
    call_command("criar_integracao", "--slug", slug, "--formato", formato, *extras, stdout=saida)
    criada = json.loads(saida.getvalue())
    return Ligada(id=criada["id"], token=criada["token"], url_callback=criada["url_callback"])


def recibo(id_externo: str, estado: str = "DELIVERED", **campos: Any) -> dict[str, Any]:
    return {"id_externo": id_externo, "estado": estado, **campos}


def passar_a_janela() -> None:
    """Como se a janela de espera tivesse passado."""
    envelhecer(timezone.now() + timedelta(days=8))
