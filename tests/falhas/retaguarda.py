"""O lado de quem opera, num processo só: `python -m tests.falhas.retaguarda cadastrar|contestar …`, resposta em JSON.

Cada processo do Django leva mais de um segundo para começar: por isso vários de uma vez.
"""

import json
import os
import sys

import django


def cadastrar(nomes: list[str]) -> list[dict[str, str]]:
    """Cria aparelhos."""
    from ingestao.capturas.dispositivos import criar_dispositivo

    criados = [criar_dispositivo(nome) for nome in nomes]
    return [{"id": str(dispositivo.pk), "token": token} for dispositivo, token in criados]


def contestar(ids: list[str]) -> list[str]:
    """Abre um pedido por captura, em nome de uma pessoa de testes; devolve os ids dos pedidos."""
    from django.contrib.auth import get_user_model

    from ingestao.capturas.pedidos import abrir_pedido
    from ingestao.models import Captura

    pessoa, _ = get_user_model().objects.get_or_create(username="quem-contesta")
    return [str(abrir_pedido(Captura.objects.get(pk=id_), "o motorista contestou", pessoa).pk) for id_ in ids]


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    print(json.dumps({"cadastrar": cadastrar, "contestar": contestar}[sys.argv[1]](sys.argv[2:])))
