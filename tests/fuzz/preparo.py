"""`python -m tests.fuzz.preparo`: cadastra, no servidor de `LASTRO_DADOS`, o que as visitas usam; resposta em JSON.

Um processo à parte porque quem testa já tem o Django configurado para outro banco.
"""

import json
import os
from io import StringIO
from typing import Any

import django

DOMINIO = "fuzz.exemplo"
CONTEUDO_DO_QUADRO = b"\xff\xd8 um quadro inteiro \xff\xd9"


def preparar() -> dict[str, Any]:
    """Tudo o que se cadastra, com os segredos que só aparecem uma vez."""
    return {
        "site": _criar_site(),
        "aparelho": _criar_aparelho(),
        "integracoes": _criar_integracoes(),
        "sessao": _abrir_sessao(),
    }


def _criar_site() -> dict[str, str]:
    from ingestao.models import Aplicativo

    site = Aplicativo.objects.create(nome="Fuzz", dominios=[DOMINIO])
    return {"id": str(site.pk), "chave": site.chave}


def _criar_aparelho() -> dict[str, str]:
    """Um aparelho com uma captura contestada: o pedido espera o quadro."""
    from hashlib import sha256

    from django.contrib.auth import get_user_model
    from django.utils import timezone

    from ingestao.capturas.dispositivos import criar_dispositivo
    from ingestao.capturas.pedidos import abrir_pedido
    from ingestao.capturas.recepcao import receber
    from ingestao.models import Captura

    dispositivo, token = criar_dispositivo("Fuzz")
    id_evento = "00000000-0000-4000-8000-0000000f0220"
    quadro = {"largura": 64, "altura": 48, "bytes": len(CONTEUDO_DO_QUADRO)}
    evento = {
        "id_evento": id_evento,
        "capturado_em": timezone.now().isoformat(),
        "idade_ms": None,
        "seq": 1,
        "tentativa": 1,
        "payload": {},
        "quadro": {**quadro, "sha256": sha256(CONTEUDO_DO_QUADRO).hexdigest(), "expira_em": None},
        "caixa": None,
    }
    receber(
        dispositivo.pk,
        json.dumps({"eventos": [evento]}).encode(),
        {"CONTENT_TYPE": "application/json"},
        timezone.now(),
    )
    operador = get_user_model().objects.create_user("fuzz-operador")
    pedido = abrir_pedido(Captura.objects.get(pk=id_evento), "conferência do fuzz", operador)
    return {"id": str(dispositivo.pk), "token": token, "pedido": str(pedido.pk)}


def _criar_integracoes() -> dict[str, dict[str, Any]]:
    """Uma por formato: slug → o que `criar_integracao` imprimiu."""
    from django.core.management import call_command

    from dlr.formatos.registro import FORMATOS

    criadas = {}
    for formato in FORMATOS:
        saida = StringIO()
        call_command(
            "criar_integracao", "--slug", f"fuzz-{formato.slug}", "--formato", formato.slug, stdout=saida
        )
        criadas[formato.slug] = {**json.loads(saida.getvalue()), "metodos": list(formato.metodos)}
    return criadas


def _abrir_sessao() -> str:
    """O cookie de sessão de quem vê tudo, sem passar pelo login: as visitas ao painel só leem."""
    from django.contrib.auth import get_user_model
    from django.test import Client

    pessoa = get_user_model().objects.create_superuser("fuzz-chefe")
    cliente = Client()
    cliente.force_login(pessoa)
    return str(cliente.cookies["sessionid"].value)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(preparar()))
