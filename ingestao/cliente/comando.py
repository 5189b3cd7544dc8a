"""A linha de comando `lastro-captura`."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import acoes
from .configuracao import ler_configuracao
from .envio import VERSAO
from .erros import ErroDoCliente

PRAZO_S = 300.0


def executar() -> None:
    """O ponto de entrada instalado."""
    sys.exit(principal(sys.argv[1:]))


def principal(argumentos: Sequence[str]) -> int:
    """Roda um comando; devolve o código de saída (0 certo, 1 nada a fazer, 2 erro, 3 ficou algo na fila)."""
    pedido = montar_leitor().parse_args(argumentos)
    nivel = logging.INFO if pedido.detalhes else logging.WARNING
    logging.basicConfig(level=nivel, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    # Conexão cortada é rotina aqui, e o urllib3 a conta com um traço inteiro.
    logging.getLogger("urllib3").setLevel(logging.ERROR)
    linha = {nome: getattr(pedido, nome, None) for nome in ("url", "pasta", "token_arquivo", "entrada")}
    try:
        configuracao = ler_configuracao(os.environ, arquivo=pedido.config, linha=linha)
        return int(pedido.acao(configuracao, pedido))
    except ErroDoCliente as erro:
        return acoes.dizer_erro(erro)


def montar_leitor() -> argparse.ArgumentParser:
    """O leitor dos argumentos."""
    comuns = argparse.ArgumentParser(add_help=False)
    comuns.add_argument("--config", type=Path, metavar="ARQUIVO", help="INI com a seção [captura]")
    comuns.add_argument("--pasta", help="onde ficam a fila e os quadros")
    comuns.add_argument("--url", help="o endereço do servidor, https://…")
    comuns.add_argument("--token-arquivo", metavar="ARQUIVO", help="arquivo com o token do dispositivo")
    comuns.add_argument("--detalhes", action="store_true", help="conta no terminal o que está fazendo")

    leitor = argparse.ArgumentParser(
        prog="lastro-captura",
        description="Cliente de capturas do Lastro: guarda, envia e só apaga o que o servidor gravou.",
        epilog="A ajuda de cada comando: lastro-captura COMANDO --help",
    )
    leitor.add_argument("--version", action="version", version=f"lastro-captura {VERSAO}")
    comandos = leitor.add_subparsers(required=True, metavar="COMANDO")

    enviar = comandos.add_parser("enviar", parents=[comuns], help="captura imagens e esvazia a fila")
    enviar.add_argument(
        "imagens", nargs="*", type=Path, metavar="IMAGEM|PASTA", help="sem nenhuma, só esvazia"
    )
    enviar.add_argument(
        "--caixa",
        action="append",
        type=_ler_caixa,
        metavar="X,Y,L,A",
        help="detecção em pixels; pode repetir",
    )
    enviar.add_argument("--payload", type=_ler_objeto, metavar="JSON", help="o payload de cada evento")
    enviar.add_argument("--prazo", type=float, default=PRAZO_S, metavar="S", help=f"padrão {PRAZO_S:.0f}")
    enviar.set_defaults(acao=acoes.enviar)

    servir = comandos.add_parser("servir", parents=[comuns], help="envia até ser encerrado (serviço)")
    servir.add_argument(
        "--entrada", metavar="PASTA", help="vigia a pasta: nome.json e nome.jpg viram captura"
    )
    servir.set_defaults(acao=acoes.servir)

    situacao = comandos.add_parser("situacao", parents=[comuns], help="mostra a fila")
    situacao.add_argument("--json", action="store_true")
    situacao.set_defaults(acao=acoes.mostrar_situacao)

    _montar_quarentena(comandos.add_parser("quarentena", help="o que espera por uma pessoa"), comuns)
    return leitor


def _montar_quarentena(leitor: argparse.ArgumentParser, comuns: argparse.ArgumentParser) -> None:
    comandos = leitor.add_subparsers(required=True, metavar="AÇÃO")
    listar = comandos.add_parser("listar", parents=[comuns], help="um evento por linha, com o motivo")
    listar.add_argument("--json", action="store_true")
    listar.set_defaults(acao=acoes.listar_quarentena)
    for nome, acao, ajuda in (
        ("reenfileirar", acoes.reenfileirar, "devolve à fila, com a mesma identidade"),
        ("descartar", acoes.descartar, "apaga, contando o motivo; não tem volta"),
    ):
        comando = comandos.add_parser(nome, parents=[comuns], help=ajuda)
        comando.add_argument("ids", nargs="*", metavar="ID_EVENTO")
        comando.add_argument("--todos", action="store_true")
        if acao is acoes.descartar:
            comando.add_argument("--motivo", type=_ler_motivo, help="letras minúsculas, algarismos e _")
        comando.set_defaults(acao=acao)


def _ler_caixa(texto: str) -> tuple[float, ...]:
    partes = tuple(float(parte) for parte in texto.split(","))
    if len(partes) != 4:
        raise argparse.ArgumentTypeError("são quatro números: x,y,largura,altura")
    return partes


def _ler_objeto(texto: str) -> Any:
    lido: Any | None = json.loads(texto)
    if not isinstance(lido, dict):
        raise argparse.ArgumentTypeError("o payload é um objeto JSON")
    return lido


def _ler_motivo(texto: str) -> str:
    if not 0 < len(texto) <= 40 or not all(
        c.isascii() and (c.islower() or c.isdigit() or c == "_") for c in texto
    ):
        raise argparse.ArgumentTypeError("até 40 letras minúsculas, algarismos e _")
    return texto
