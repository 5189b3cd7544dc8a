"""Onde ficam os quadros pedidos: o armazenamento `quadros` do Django (disco por padrão)."""

import logging
import os
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import UUID

from django.core.files.base import File
from django.core.files.storage import FileSystemStorage, Storage, storages

registro = logging.getLogger("lastro.capturas")


class QuadrosEmDisco(FileSystemStorage):
    """O armazenamento em disco do Django, durável: o arquivo só aparece inteiro, e já está no disco.

    Um nome que existe é substituído, de uma vez: um envio que morreu entre o arquivo e o COMMIT é refeito por cima.
    """

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """O próprio nome: ele vem do id do pedido, e de mais nada."""
        return name

    def _save(self, name: str, content: File) -> str:
        destino = Path(self.path(name))
        destino.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=destino.parent, prefix=".", suffix=".parcial", delete=False) as parcial:
            try:
                for pedaco in content.chunks():
                    parcial.write(pedaco)
                parcial.flush()
                os.fsync(parcial.fileno())
                os.replace(parcial.name, destino)
            except BaseException:
                Path(parcial.name).unlink(missing_ok=True)
                raise
        _gravar_pasta(destino.parent)
        return name


def _gravar_pasta(pasta: Path) -> None:
    """O nome novo também precisa chegar ao disco."""
    descritor = os.open(pasta, os.O_RDONLY)
    try:
        os.fsync(descritor)
    finally:
        os.close(descritor)


def abrir_deposito() -> Storage:
    """O armazenamento dos quadros, conforme a configuração (`STORAGES["quadros"]`)."""
    return storages["quadros"]


def nomear_quadro(pedido_id: UUID) -> str:
    """O nome do quadro no depósito: só do id do pedido, nada que o aparelho tenha escrito."""
    return f"{pedido_id.hex[:2]}/{pedido_id}.jpg"


class DepositoIndisponivel(Exception):
    """O quadro não pôde ser guardado (disco cheio, serviço fora do ar): reenviar depois resolve."""


def guardar_quadro(pedido_id: UUID, conteudo: Any) -> str:
    """Guarda o quadro e devolve o nome. Levanta `DepositoIndisponivel`."""
    try:
        return abrir_deposito().save(nomear_quadro(pedido_id), File(conteudo))
    except Exception as erro:  # cada serviço de armazenamento levanta os seus; o traço vai no registro
        registro.exception("quadro nao guardado", extra={"pedido": str(pedido_id)})
        raise DepositoIndisponivel(type(erro).__name__) from erro
