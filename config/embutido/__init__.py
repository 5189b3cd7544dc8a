"""PostgreSQL e Valkey de verdade, vindos de rodas do Python, para rodar sem instalar nada à mão.

- `enderecos.py`         as URLs dos servidores de um `manage.py local` em funcionamento
- `usuario.py`           com que usuário sem privilégios rodar quando quem chama é root, e o que ele alcança
- `pastas.py`            onde ficam dados, binários e soquetes, sem afrouxar permissão alguma
- `trava.py`             um dono por pasta de dados
- `servidor.py`          o que os dois servidores têm em comum
- `postgres.py`          initdb, órfãos e como iniciar o PostgreSQL
- `ajustes_postgres.py`  o que mudamos da configuração padrão dele, e por quê
- `valkey.py`            como iniciar o Valkey, e o AOF estragado que não o impede
- `sessao.py`            os dois de pé durante um bloco `with`

Este módulo não importa nada ao carregar: `config.ambiente` passa por aqui a caminho de `enderecos`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .enderecos import Enderecos


def iniciar_servidores(dados: Path) -> AbstractContextManager[Enderecos]:
    """Devolve um gerenciador de contexto que inicia os dois servidores sobre a pasta e os encerra na saída.

    Como root, prefira uma pasta que um usuário comum atravesse: senão os dados vão para /var/lib/lastro e
    não somem com ela.
    """
    from .sessao import servir

    return servir(dados)
