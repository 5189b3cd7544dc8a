"""A demonstração inteira: uma etapa por vez, cada uma uma vez só."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from dlr.models import EventoLogico, Excecao, Integracao, Mensagem, Recepcao
from ingestao.models import Aplicativo, Captura, Dispositivo, Erro, Evento, Pedido, Sessao
from painel.demonstracao.aparelhos import APARELHOS
from painel.demonstracao.avisos import avisar
from painel.demonstracao.cadastro import Caderno
from painel.demonstracao.capturas import mandar_capturas
from painel.demonstracao.chamada import Cliente, conferir_de_pe
from painel.demonstracao.contestacoes import contestar
from painel.demonstracao.lugares import SITES
from painel.demonstracao.recibos import mandar_recibos
from painel.demonstracao.semente import Tamanho
from painel.demonstracao.sites import mandar_sites
from painel.demonstracao.transportadoras import TRANSPORTADORAS
from painel.models import Aviso

ETAPAS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("sites", mandar_sites),
    ("capturas", mandar_capturas),
    ("contestacoes", contestar),
    ("recibos", mandar_recibos),
)
AVISOS = "avisos"


class OutroTamanho(Exception):
    """Esta semente já foi usada com outro tamanho; a mensagem diz o que fazer."""


@dataclass(slots=True, kw_only=True)
class Progresso:
    """Diz o que se está fazendo e quanto já foi. `dizer` recebe o texto; `de_volta`, se a linha se reescreve."""

    dizer: Callable[[str], None]
    de_volta: bool
    _comecou_s: float = field(default_factory=time.monotonic)

    def avancar(self, o_que: str, quantos: int) -> Callable[[], None]:
        """Começa uma contagem; chame o que volta a cada um feito."""
        feitos = 0
        passo = 1 if self.de_volta else max(1, quantos // 4)

        def mais_um() -> None:
            nonlocal feitos
            feitos += 1
            if feitos % passo == 0 or feitos == quantos:
                decorrido_s = time.monotonic() - self._comecou_s
                fim = "\r" if self.de_volta and feitos < quantos else "\n"
                self.dizer(f"[{decorrido_s:3.0f} s] {o_que}: {feitos} de {quantos}{fim}")

        return mais_um


def demonstrar(cliente: Cliente, caderno: Caderno, tamanho: Tamanho, progresso: Progresso) -> bool:
    """Faz as etapas que faltam; diz se fez alguma. Levanta `OutroTamanho`, `ServidorMudo` ou `CaixaParada`."""
    if caderno.fez(AVISOS):
        _conferir_tamanho(caderno, tamanho)
        return False
    conferir_de_pe(cliente)
    comeco_em = _conferir_tamanho(caderno, tamanho)
    for nome, fazer in ETAPAS:
        if not caderno.fez(nome):
            fazer(cliente, caderno, comeco_em, tamanho, progresso.avancar)
            caderno.anotar(nome)
    avisar(caderno)
    caderno.anotar(AVISOS)
    return True


def _conferir_tamanho(caderno: Caderno, tamanho: Tamanho) -> Any:
    comeco_em, usado = caderno.comecar(tamanho.value)
    if usado != tamanho.value:
        raise OutroTamanho(
            f"A semente {caderno.semente.numero} já foi usada no tamanho {usado}: "
            f"use --tamanho {usado} para continuar, ou outra --semente."
        )
    return timezone.localtime(comeco_em)


def contar_o_que_ha(caderno: Caderno, raiz: str) -> Sequence[tuple[str, str, str]]:
    """O que há para ver: nome, quanto, e onde."""
    semente = caderno.semente
    aplicativos = Aplicativo.objects.filter(pk__in=[semente.uuid(site.apelido) for site in SITES])
    dispositivos = Dispositivo.objects.filter(pk__in=[semente.uuid(a.apelido) for a in APARELHOS])
    integracoes = Integracao.objects.filter(slug__in=[semente.slug(t.apelido) for t in TRANSPORTADORAS])
    erros = Erro.objects.filter(aplicativo__in=aplicativos)
    pedidos = Pedido.objects.filter(dispositivo__in=dispositivos)
    das_integracoes = {"integracao__in": integracoes}
    abertas = Excecao.objects.filter(**das_integracoes, situacao="aberta")
    sessoes = Sessao.objects.filter(aplicativo__in=aplicativos).count()
    eventos = Evento.objects.filter(aplicativo__in=aplicativos).count()
    voltaram = erros.filter(regressoes__gt=0).count()
    capturas = Captura.objects.filter(dispositivo__in=dispositivos).count()
    situacoes = pedidos.order_by().values("situacao").distinct().count()
    mensagens = Mensagem.objects.filter(**das_integracoes).count()
    recepcoes = Recepcao.objects.filter(**das_integracoes).count()
    acontecimentos = EventoLogico.objects.filter(**das_integracoes).count()
    tipos = abertas.order_by().values("tipo").distinct().count()
    avisos = Aviso.objects.filter(resolvido_em=None).count()
    tabela = (
        ("Página inicial", "o estado de tudo, de relance", "/admin/"),
        ("Sessões", f"{sessoes}, com {eventos} eventos", "/admin/ingestao/sessao/"),
        ("Erros", f"{erros.count()}; {voltaram} voltaram depois de resolvidos", "/admin/ingestao/erro/"),
        ("Capturas", f"{capturas} de {dispositivos.count()} aparelhos", "/admin/ingestao/captura/"),
        ("Contestações", f"{pedidos.count()}, em {situacoes} situações", "/admin/ingestao/pedido/"),
        ("Mensagens", f"{mensagens} por {integracoes.count()} transportadoras", "/admin/dlr/mensagem/"),
        ("Recibos", f"{recepcoes} recepções, {acontecimentos} acontecimentos", "/admin/dlr/recepcao/"),
        ("Exceções", f"{abertas.count()} abertas, de {tipos} tipos", "/admin/dlr/excecao/"),
        ("Avisos", f"{avisos} abertos", "/admin/painel/aviso/"),
    )
    return [(nome, quanto, f"{raiz}{rota}") for nome, quanto, rota in tabela]
