"""O que se diz de um aviso: o assunto e o texto do e-mail, e o JSON do webhook (forma em docs/avisos.md)."""

from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from painel.models import Aviso, DestinoDeAviso, EntregaDeAviso

VERSAO = 1
ITENS_CITADOS = 20
Motivo = EntregaDeAviso.Motivo
COMECO = {
    Motivo.ABRIU: "",
    Motivo.NOVIDADE: "Novidade: ",
    Motivo.REPETIU: "Ainda: ",
    Motivo.RESOLVEU: "Resolvido: ",
}


def montar(aviso: Aviso, motivo: str, agora: datetime) -> dict[str, Any]:
    """O conteúdo de uma entrega do aviso como está. Fixado na primeira tentativa: reenviar manda os mesmos bytes."""
    return {
        "versao": VERSAO,
        "aviso": str(aviso.pk),
        "tipo": aviso.tipo,
        "motivo": str(motivo),
        "critico": aviso.critico,
        "titulo": aviso.titulo,
        "alvo": aviso.alvo,
        "valor": aviso.valor,
        "qtd_itens": aviso.qtd_itens,
        "itens": aviso.itens[:ITENS_CITADOS],
        "aberto_em": aviso.aberto_em.isoformat(),
        "resolvido_em": aviso.resolvido_em.isoformat() if aviso.resolvido_em else None,
        "enfileirado_em": agora.isoformat(),
        "painel": _ligar(f"/admin/painel/aviso/{aviso.pk}/change/"),
    }


def montar_teste(destino: DestinoDeAviso, agora: datetime) -> dict[str, Any]:
    """O conteúdo do botão "enviar teste"."""
    return {
        "versao": VERSAO,
        "aviso": None,
        "tipo": "teste",
        "motivo": str(Motivo.TESTE),
        "critico": False,
        "titulo": f"Teste do destino {destino.nome}",
        "alvo": "",
        "valor": None,
        "qtd_itens": 0,
        "itens": [],
        "aberto_em": None,
        "resolvido_em": None,
        "enfileirado_em": agora.isoformat(),
        "painel": _ligar(f"/admin/painel/destinodeaviso/{destino.pk}/change/"),
    }


def escrever_assunto(conteudo: dict[str, Any]) -> str:
    """O assunto do e-mail; o que veio de fora nele é limpo ao mandar."""
    return f"[Lastro] {COMECO.get(conteudo['motivo'], '')}{conteudo['titulo']}"


def escrever_texto(conteudo: dict[str, Any]) -> str:
    """O corpo do e-mail, texto puro: cada item numa linha, sem os controles que veio de fora."""
    linhas = [f"{COMECO.get(conteudo['motivo'], '')}{_numa_linha(conteudo['titulo'])}", ""]
    linhas += [f"- {_numa_linha(item['texto'])}" for item in conteudo["itens"]]
    if (resto := conteudo["qtd_itens"] - len(conteudo["itens"])) > 0:
        linhas.append(f"e mais {resto}.")
    for rotulo, campo in (("Aberto em", "aberto_em"), ("Resolvido em", "resolvido_em")):
        if conteudo[campo]:
            local = timezone.localtime(datetime.fromisoformat(conteudo[campo]))
            linhas.append(f"{rotulo}: {local:%d/%m/%Y %H:%M}")
    if conteudo["painel"]:
        linhas += ["", conteudo["painel"]]
    return "\n".join(linhas) + "\n"


def _numa_linha(texto: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in texto).split())


def _ligar(caminho: str) -> str | None:
    """O endereço no painel; None sem `URL_FRONTEND`, porque o servidor não sabe o próprio nome."""
    return settings.URL_FRONTEND.rstrip("/") + caminho if settings.URL_FRONTEND else None
