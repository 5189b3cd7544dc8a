"""`manage.py demonstracao`: uma semana de dados dos três fluxos num sistema novo, pelas rotas de verdade."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from config import ambiente
from config.comando import Comando
from config.embutido.enderecos import ler_enderecos
from painel.demonstracao.cadastro import abrir_caderno, contar_de_verdade
from painel.demonstracao.chamada import Cliente, ServidorMudo
from painel.demonstracao.execucao import OutroTamanho, Progresso, contar_o_que_ha, demonstrar
from painel.demonstracao.semente import SEMENTE_PADRAO, Semente, Tamanho
from painel.demonstracao.tempo import CaixaParada
from painel.demonstracao.usuarios import garantir_usuarios


class Command(Comando):
    help = (
        "Enche um sistema novo com uma semana de dados críveis, mandados ao servidor de pé pelas rotas de verdade. "
        "Rodar de novo com a mesma semente continua de onde parou, e não repete o que já fez."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        porta = os.environ.get("PORTA", "") or "8000"
        parser.add_argument(
            "--url", default=f"http://127.0.0.1:{porta}", help="o servidor de pé (padrão: %(default)s)"
        )
        parser.add_argument(
            "--semente",
            type=int,
            default=SEMENTE_PADRAO,
            help="o número que decide os dados (padrão: %(default)s)",
        )
        parser.add_argument(
            "--tamanho",
            choices=[tamanho.value for tamanho in Tamanho],
            default=Tamanho.PEQUENO.value,
            help="pequeno leva menos de 90 s; médio, alguns minutos",
        )
        parser.add_argument(
            "--usuarios", action="store_true", help="cria também um usuário por papel, com senha sorteada"
        )
        parser.add_argument(
            "--por-cima",
            action="store_true",
            help="mesmo que o banco já tenha dados que não são de demonstração",
        )
        parser.add_argument(
            "--mesmo-em-producao", action="store_true", help="mesmo fora do modo local (manage.py local)"
        )

    def handle(self, *args: Any, **opcoes: Any) -> None:
        _conferir(opcoes)
        if opcoes["usuarios"]:
            self._criar_usuarios()
        caderno = abrir_caderno(Semente(numero=opcoes["semente"]))
        progresso = Progresso(dizer=self._dizer, de_volta=sys.stderr.isatty())
        try:
            fez = demonstrar(Cliente(opcoes["url"]), caderno, Tamanho(opcoes["tamanho"]), progresso)
        except (ServidorMudo, CaixaParada, OutroTamanho) as falha:
            raise CommandError(str(falha)) from falha
        self.stdout.write(
            "\nO que há para ver:" if fez else "\nJá estava tudo lá; nada mudou. O que há para ver:"
        )
        for nome, quanto, url in contar_o_que_ha(caderno, opcoes["url"].rstrip("/")):
            self.stdout.write(f"  {nome:<15} {quanto:<52} {url}")

    def _criar_usuarios(self) -> None:
        for nome, senha in garantir_usuarios(ambiente.DADOS).items():
            arquivo = ambiente.DADOS / f"senha-{nome}.txt"
            self.stdout.write(f"Usuário {nome} criado · senha {senha} (guardada em {arquivo})")

    def _dizer(self, texto: str) -> None:
        self.stderr.write(texto, ending="")


def _no_modo_local() -> bool:
    """O banco é o de um `manage.py local` de pé: o dele mesmo, ou o que ele escreveu na pasta de dados."""
    enderecos = ler_enderecos(ambiente.DADOS)
    return ambiente.MODO_LOCAL or (enderecos is not None and enderecos.banco_url == ambiente.url_do_banco())


def _conferir(opcoes: dict[str, Any]) -> None:
    """Levanta `CommandError` onde uma demonstração não tem o que fazer."""
    if not _no_modo_local() and not opcoes["mesmo_em_producao"]:
        raise CommandError(
            "Isto não é um `manage.py local`: a demonstração enche o banco de dados inventados. "
            "Se é isso mesmo, --mesmo-em-producao."
        )
    if (de_verdade := contar_de_verdade()) and not opcoes["por_cima"]:
        quais = ", ".join(f"{quantos} {nome}" for nome, quantos in de_verdade.items())
        raise CommandError(
            f"Este banco já tem dados de verdade ({quais}). Para pôr os da demonstração ao lado deles, --por-cima."
        )
