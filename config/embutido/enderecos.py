"""Onde estão os servidores de um `manage.py local` em funcionamento.

`local` grava aqui as duas URLs quando os servidores respondem e apaga o arquivo ao sair; qualquer outro
comando do `manage.py` lê o arquivo e fala com os mesmos servidores. Só biblioteca padrão: a configuração
do Django importa este módulo antes de tudo.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

NOME_ARQUIVO = "enderecos.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Enderecos:
    """URLs dos servidores em uso: `postgresql://…` e `unix://…` ou `redis://…`."""

    banco_url: str
    redis_url: str


def ler_enderecos(dados: Path) -> Enderecos | None:
    """Devolve os endereços gravados na pasta de dados, ou None se não há (ou não se entende) o arquivo."""
    try:
        conteudo = json.loads((dados / NOME_ARQUIVO).read_text("utf-8"))
        return Enderecos(banco_url=str(conteudo["banco_url"]), redis_url=str(conteudo["redis_url"]))
    except (OSError, ValueError, KeyError, TypeError):
        # Arquivo cortado ou de outro usuário vale o mesmo que nenhum: quem chama já sabe viver sem ele.
        return None


def gravar_enderecos(dados: Path, enderecos: Enderecos) -> None:
    """Grava os endereços de uma vez só, legíveis apenas pelo dono (a URL pode trazer senha)."""
    provisorio = dados / f"{NOME_ARQUIVO}.{os.getpid()}"
    descritor = os.open(provisorio, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descritor, "w", encoding="utf-8") as arquivo:
        json.dump(asdict(enderecos), arquivo, indent=1)
    provisorio.replace(dados / NOME_ARQUIVO)


def apagar_enderecos(dados: Path) -> None:
    """Apaga o arquivo; não reclama se já não existe."""
    (dados / NOME_ARQUIVO).unlink(missing_ok=True)
