"""`manage.py primeira_execucao`: o que um banco vazio precisa ter para alguém entrar e experimentar.

Repetível: o que já existe fica como está. Roda a cada início do `manage.py local`.
"""

from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction

from config import ambiente
from config.comando import Comando
from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from ingestao.models import Aplicativo
from painel.acesso.senhas import sortear_senha

USUARIO = "admin"
DOMINIOS_DE_DEMONSTRACAO = ["localhost", "127.0.0.1", "[::1]"]


class Command(Comando):
    help = "Cria o usuário do painel e o aplicativo de demonstração, se ainda não existem."

    def handle(self, *args: Any, **opcoes: Any) -> None:
        with transaction.atomic():
            self._criar_usuario(ambiente.DADOS / "senha-admin.txt")
            self._criar_demonstracao()

    def _criar_usuario(self, arquivo: Path) -> None:
        usuarios = get_user_model().objects
        if usuarios.filter(is_superuser=True).exists():
            return
        usuarios.create_superuser(USUARIO, password=sortear_senha(arquivo))
        self.stdout.write(f"Usuário {USUARIO} criado; a senha está em {arquivo}")

    def _criar_demonstracao(self) -> None:
        # Só no modo local e só uma vez: quem excluiu a demonstração não a quer de volta.
        if not ambiente.MODO_LOCAL or Aplicativo.objects.exists():
            return
        demonstracao = Aplicativo(
            nome="Demonstração", dominios=DOMINIOS_DE_DEMONSTRACAO, chave=CHAVE_DE_DEMONSTRACAO
        )
        demonstracao.full_clean()
        demonstracao.save()
        self.stdout.write(f"Aplicativo de demonstração criado; chave {CHAVE_DE_DEMONSTRACAO}")
