"""`python -m tests.seguranca.plantio`: cadastra, no servidor de `LASTRO_DADOS`, quem tem os segredos do teste.

Um processo à parte porque quem testa já tem o Django configurado para outro banco. Imprime os segredos em JSON.
"""

import json
import os
from io import StringIO
from typing import Any

import django


def plantar() -> dict[str, Any]:
    """Uma pessoa, duas integrações, um aparelho, um site e um webhook."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    from ingestao.capturas.dispositivos import criar_dispositivo
    from ingestao.models import Aplicativo
    from painel.models import Canal, DestinoDeAviso
    from tests.seguranca import test_segredos as plantados

    def criar_integracao(slug: str, formato: str, *opcoes: str) -> str:
        saida = StringIO()
        mais = ("--opcao", *opcoes) if opcoes else ()
        call_command("criar_integracao", "--slug", slug, "--formato", formato, *mais, stdout=saida)
        return str(json.loads(saida.getvalue())["token"])

    get_user_model().objects.create_superuser("ana", password=plantados.SENHA_CERTA)
    aberta = criar_integracao("aberta", "padrao", "usuario=op", f"senha={plantados.SENHA_DO_BASIC}")
    assinada = criar_integracao("assinada", "twilio", f"segredo={plantados.SEGREDO_DA_ASSINATURA}")
    _, do_aparelho = criar_dispositivo("Portaria")
    site = Aplicativo.objects.create(nome="Segredos", dominios=["segredos.exemplo"])
    webhook = DestinoDeAviso(
        nome="Sala", canal=Canal.WEBHOOK, url=f"https://localhost/{plantados.CAMINHO_DO_WEBHOOK}"
    )
    do_webhook = webhook.trocar_segredo()
    webhook.save()
    telas = ("dlr/integracao", "dlr/recepcao", "dlr/mensagem", "ingestao/evento", "ingestao/captura",
             "painel/destinodeaviso", "admin/logentry", "axes/accessattempt")  # fmt: skip
    return {
        "chave": site.chave,
        "webhook": webhook.pk,
        "telas": ["/admin/", *(f"/admin/{tela}/" for tela in telas)],
        "segredos": {
            "token da integração": aberta,
            "token da assinada": assinada,
            "token do aparelho": do_aparelho,
            "segredo do webhook": do_webhook,
            "caminho do webhook": plantados.CAMINHO_DO_WEBHOOK,
        },
    }


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps(plantar()))
