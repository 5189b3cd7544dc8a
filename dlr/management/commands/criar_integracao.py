"""`manage.py criar_integracao`: cria uma integração e imprime uma linha JSON; o token aparece só aqui."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import transaction

from config.cofre import cifrar
from config.comando import Comando
from dlr.cofre import gerar_token, resumir_token
from dlr.formatos.registro import POR_SLUG
from dlr.models import Integracao, RegraDeIntegracao

OPCOES = ("id_base", "id_zeros", "id_caixa", "fuso", "janela_espera_s", "prazo_final_s", "usuario")


class Command(Comando):
    help = 'Cria uma integração e imprime {"id": …, "slug": …, "token": …, "url_callback": …}.'

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--slug", required=True)
        parser.add_argument("--formato", required=True, choices=sorted(POR_SLUG))
        parser.add_argument("--nome", default="")
        parser.add_argument(
            "--opcao",
            nargs="+",
            action="extend",
            default=[],
            metavar="k=v",
            help=f"{' '.join(OPCOES)} recibo_do_aparelho=sim|nao rede=IP segredo=… senha=…",
        )

    def handle(self, *args: Any, **opcoes: Any) -> None:
        token = gerar_token()
        integracao = Integracao(
            slug=opcoes["slug"],
            nome=opcoes["nome"] or opcoes["slug"],
            formato=opcoes["formato"],
            token_resumo=resumir_token(token),
        )
        for par in opcoes["opcao"]:
            _aplicar(integracao, par)
        try:
            integracao.full_clean()
        except ValidationError as erro:
            frases = [f"{campo}: {' '.join(textos)}" for campo, textos in erro.message_dict.items()]
            raise CommandError("; ".join(frases)) from erro
        with transaction.atomic():
            integracao.save()
            RegraDeIntegracao.objects.create(
                integracao=integracao,
                versao=1,
                finais=sorted(integracao.formato_lido.finais),
                motivo="padrão do formato",
            )
        self.stdout.write(
            json.dumps(
                {
                    "id": integracao.pk,
                    "slug": integracao.slug,
                    "token": token,
                    "url_callback": f"/dlr/callback/{integracao.slug}/{token}",
                }
            )
        )


def _aplicar(integracao: Integracao, par: str) -> None:
    """Uma opção `k=v`. Levanta `CommandError` dizendo quais existem."""
    nome, igual, valor = par.partition("=")
    if not igual:
        raise CommandError(f"“{par}”: opções são k=v.")
    if nome == "recibo_do_aparelho":
        if valor not in ("sim", "nao"):
            raise CommandError("recibo_do_aparelho é sim ou nao.")
        integracao.recibo_do_aparelho = valor == "sim"
    elif nome == "segredo":
        integracao.segredo_cifrado = cifrar(valor)
    elif nome == "senha":
        integracao.senha_cifrada = cifrar(valor)
    elif nome == "rede":
        integracao.redes = [*integracao.redes, valor]
    elif nome in OPCOES:
        setattr(integracao, nome, valor)
    else:
        raise CommandError(
            f"opção desconhecida “{nome}”; existem: {' '.join(OPCOES)} recibo_do_aparelho rede segredo senha."
        )
