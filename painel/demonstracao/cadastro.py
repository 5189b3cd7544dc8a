"""Quem assina o que a demonstração faz, o que é dela, e o que já era de verdade. A memória é a trilha do painel."""

import json
import time
from dataclasses import dataclass
from datetime import datetime
from io import StringIO
from typing import Any

from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import transaction
from django.db.models import Model

from dlr.autenticacao import VALIDADE_S
from dlr.cofre import gerar_token as gerar_token_da_integracao
from dlr.cofre import resumir_token as resumir_token_da_integracao
from dlr.models import Integracao
from ingestao.capturas.autenticacao import gerar_token, resumir_token
from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from ingestao.models import Aplicativo, Dispositivo, PoliticaDeFranquia
from painel.demonstracao.semente import Semente

AUTOR = "demonstracao"
COMECOU = "comecou"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caderno:
    """O que a demonstração de uma semente já fez, escrito na trilha em nome de `autor`."""

    semente: Semente
    autor: User

    def fez(self, etapa: str) -> bool:
        """Se a etapa já terminou."""
        return self._linhas(etapa).exists()

    def anotar(self, etapa: str) -> None:
        """Diz na trilha que a etapa terminou."""
        LogEntry.objects.create(
            user=self.autor,
            content_type=ContentType.objects.get_for_model(User),
            object_id=str(self.autor.pk),
            object_repr=str(self.autor),
            action_flag=CHANGE,
            change_message=self._dizer(etapa),
        )

    def comecar(self, tamanho: str) -> tuple[datetime, str]:
        """Quando esta demonstração começou e de que tamanho é; na primeira vez, agora e `tamanho`.

        Uma rodada interrompida continua de onde parou com as horas da primeira: as mesmas capturas, byte a byte.
        """
        if (comeco := self._linhas(COMECOU).first()) is None:
            self.anotar(f"{COMECOU}, {tamanho}")
            comeco = self._linhas(COMECOU).first()
        assert comeco is not None
        return comeco.action_time, comeco.change_message.rpartition(", ")[2]

    def criou(self, registro: Model) -> None:
        """Põe na trilha um registro que a demonstração criou: é por ela que se sabe que é dela."""
        LogEntry.objects.log_actions(self.autor.pk, [registro], ADDITION, self._dizer("criou"))

    def _linhas(self, etapa: str) -> Any:
        return LogEntry.objects.filter(
            user=self.autor, action_flag=CHANGE, change_message__startswith=self._dizer(etapa)
        ).order_by("pk")

    def _dizer(self, etapa: str) -> str:
        return f"Demonstração de semente {self.semente.numero}: {etapa}"


def abrir_caderno(semente: Semente) -> Caderno:
    """O caderno da semente. O autor é um usuário que não entra no painel."""
    autor, novo = User.objects.get_or_create(
        username=AUTOR, defaults={"first_name": "Demonstração", "is_active": False}
    )
    if novo:
        autor.set_unusable_password()
        autor.save(update_fields=["password"])
    return Caderno(semente=semente, autor=autor)


def contar_de_verdade() -> dict[str, int]:
    """O que há no banco que nenhuma demonstração criou, por nome; só o que não é zero."""
    de_fora = {
        "aplicativos": Aplicativo.objects.exclude(chave=CHAVE_DE_DEMONSTRACAO),
        "dispositivos": Dispositivo.objects.all(),
        "integrações": Integracao.objects.all(),
    }
    contagem = {
        nome: registros.exclude(pk__in=_criados(registros.model)).count()
        for nome, registros in de_fora.items()
    }
    return {nome: quantos for nome, quantos in contagem.items() if quantos}


def _criados(modelo: type[Model]) -> list[str | None]:
    return list(
        LogEntry.objects.filter(
            user__username=AUTOR,
            action_flag=ADDITION,
            content_type=ContentType.objects.get_for_model(modelo),
        ).values_list("object_id", flat=True)
    )


def garantir_aplicativo(
    caderno: Caderno,
    apelido: str,
    nome: str,
    *,
    franquia: int | None = None,
    politica: str = PoliticaDeFranquia.SO_AVISAR,
) -> Aplicativo:
    """O aplicativo `apelido` da semente, criado se falta. O domínio é reservado (.example): não há site nenhum lá."""
    semente = caderno.semente
    existente = Aplicativo.objects.filter(pk=semente.uuid(apelido)).first()
    if existente is not None:
        return existente
    dominio = f"{semente.slug(apelido)}.example"
    aplicativo = Aplicativo(
        id=semente.uuid(apelido),
        nome=semente.nome(nome),
        dominios=[dominio, f"*.{dominio}"],
        chave=f"pk_live_{semente.slug(apelido)}",
        franquia=franquia,
        politica=politica,
    )
    aplicativo.full_clean()
    with transaction.atomic():
        aplicativo.save(force_insert=True)
        caderno.criou(aplicativo)
    return aplicativo


def garantir_dispositivo(
    caderno: Caderno, apelido: str, nome: str, silencioso_apos_s: int
) -> tuple[Dispositivo, str]:
    """O aparelho `apelido` da semente, e um token que vale: só se guarda o resumo, e o de antes já se perdeu."""
    token = gerar_token()
    dispositivo, novo = Dispositivo.objects.get_or_create(
        pk=caderno.semente.uuid(apelido),
        defaults={
            "nome": caderno.semente.nome(nome),
            "token_resumo": resumir_token(token),
            "silencioso_apos_s": silencioso_apos_s,
        },
    )
    if novo:
        caderno.criou(dispositivo)
    else:
        dispositivo.token_resumo, dispositivo.revogado_em = resumir_token(token), None
        dispositivo.save(update_fields=["token_resumo", "revogado_em"])
    return dispositivo, token


def garantir_integracao(
    caderno: Caderno, apelido: str, nome: str, formato: str, *opcoes: str
) -> tuple[Integracao, str]:
    """A integração `apelido` da semente, pelo comando que a cria, e um token que vale."""
    slug = caderno.semente.slug(apelido)
    existente = Integracao.objects.filter(slug=slug).first()
    if existente is not None:
        token = gerar_token_da_integracao()
        existente.token_resumo = resumir_token_da_integracao(token)
        existente.save(update_fields=["token_resumo"])
        time.sleep(VALIDADE_S)  # a porta ainda conhece o token anterior por este tempo
        return existente, token
    saida = StringIO()
    nomeada = ("--slug", slug, "--formato", formato, "--nome", caderno.semente.nome(nome))
    with transaction.atomic():
        call_command("criar_integracao", *nomeada, *(("--opcao", *opcoes) if opcoes else ()), stdout=saida)
        criada = json.loads(saida.getvalue())
        integracao = Integracao.objects.get(pk=criada["id"])
        caderno.criou(integracao)
    return integracao, criada["token"]
