"""Cria os aplicativos da bancada. Roda também como programa, dentro do ambiente do servidor medido.

O Django fica num processo à parte: assim o gerador de carga não carrega o ORM nem a configuração, e quem
cria são os modelos do projeto, não um SQL que os imita.
"""

import json
import math
import subprocess
import sys
from dataclasses import dataclass
from uuid import UUID

from tests.bancada.servidor import RAIZ, Servidor, ambiente_do_servidor

DOMINIO = "loja.exemplo.com.br"
EVENTOS_POR_APLICATIVO = 5_000  # o limite é 6.000 por minuto e por chave; a folga cobre reenvios
PRAZO_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Aplicativo:
    """O que o gerador precisa: a chave para mandar e o id para conferir."""

    id: UUID
    chave: str


def quantos_para(eventos: int) -> int:
    """Quantos aplicativos cobrem tantos eventos sem encostar no limite por minuto."""
    return math.ceil(eventos / EVENTOS_POR_APLICATIVO)


def criar_aplicativos(servidor: Servidor, quantos: int) -> list[Aplicativo]:
    """Cria `quantos` aplicativos novos no servidor; levanta `CalledProcessError` se não conseguiu."""
    saida = subprocess.run(
        [sys.executable, "-m", "tests.bancada.aplicativos", str(quantos)],
        env=ambiente_do_servidor(servidor.dados),
        cwd=RAIZ,
        check=True,
        stdout=subprocess.PIPE,
        timeout=PRAZO_S,
    ).stdout
    return [Aplicativo(id=UUID(id_), chave=chave) for id_, chave in json.loads(saida)]


def _criar(quantos: int) -> None:
    import django

    django.setup()
    from ingestao.models import Aplicativo as Modelo

    novos = Modelo.objects.bulk_create(
        Modelo(nome=f"Bancada {numero}", dominios=[DOMINIO]) for numero in range(quantos)
    )
    print(json.dumps([(str(novo.id), novo.chave) for novo in novos]))


if __name__ == "__main__":
    import os

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    _criar(int(sys.argv[1]))
