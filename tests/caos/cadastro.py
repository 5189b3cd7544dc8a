"""`python -m tests.caos.cadastro <integrações> <aparelho>…`: cria umas e outros no servidor de `LASTRO_DADOS`.

Um processo para tudo, porque cada `manage.py criar_…` leva mais de um segundo. Imprime
`{"integracoes": [{id, slug, token, url_callback}], "aparelhos": [{id, token}]}`.
"""

import json
import os
import sys
from io import StringIO
from typing import Any

import django

# Numa rodada de mais de quinze minutos, um recibo sem mensagem viraria exceção no meio da conferência.
ESPERA_S = 86_400


def criar_integracoes(quantas: int) -> list[dict[str, Any]]:
    """Integrações do formato padrão."""
    from django.core.management import call_command

    criadas = []
    for numero in range(quantas):
        saida = StringIO()
        call_command(
            "criar_integracao",
            slug=f"caos-{numero}",
            formato="padrao",
            opcao=[f"janela_espera_s={ESPERA_S}"],
            stdout=saida,
        )
        criadas.append(json.loads(saida.getvalue()))
    return criadas


def criar_aparelhos(nomes: list[str]) -> list[dict[str, str]]:
    """Aparelhos, com o token de cada um."""
    from ingestao.capturas.dispositivos import criar_dispositivo

    criados = [criar_dispositivo(nome) for nome in nomes]
    return [{"id": str(dispositivo.pk), "token": token} for dispositivo, token in criados]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    criado = {
        "integracoes": criar_integracoes(int(sys.argv[1])),
        "aparelhos": criar_aparelhos(sys.argv[2:]),
    }
    print(json.dumps(criado))
