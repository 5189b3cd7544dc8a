"""A linha do tempo de uma sessão: o que aconteceu, com as repetições juntas. Puro, fora a dica de cada tipo."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.safestring import SafeString

from ingestao.models import Evento, TipoDeEvento
from painel.admin.ingestao.evento import CORES_DOS_TIPOS, descrever

# Nomes da fonte de símbolos do tema.
ICONES: dict[str, str] = {
    TipoDeEvento.ERRO_JS: "bug_report",
    TipoDeEvento.PROMISE_REJEITADA: "sync_problem",
    TipoDeEvento.CONSOLE: "terminal",
    TipoDeEvento.REQUISICAO: "sync_alt",
    TipoDeEvento.CLIQUE: "touch_app",
    TipoDeEvento.PAGINA: "web",
    TipoDeEvento.DESEMPENHO: "speed",
    TipoDeEvento.IDENTIFICACAO: "badge",
    TipoDeEvento.PERSONALIZADO: "flag",
}
FALHA_HTTP = 400  # a requisição que voltou com isto ou mais é parte da história do erro


@dataclass(frozen=True, slots=True, kw_only=True)
class Passo:
    """Um acontecimento e quantas vezes se repetiu em seguida; `evento` é o mais recente deles."""

    evento: Evento
    descricao: SafeString | None
    icone: str
    cor: str
    vezes: int
    comecou_em: datetime
    desde_o_inicio: str


def montar_passos(eventos: Iterable[Evento], inicio: datetime) -> list[Passo]:
    """Os eventos, do mais recente ao mais antigo, com os seguidos e iguais num passo só."""
    grupos: list[list[Evento]] = []
    for evento in eventos:
        if grupos and _assunto(grupos[-1][0]) == _assunto(evento):
            grupos[-1].append(evento)
        else:
            grupos.append([evento])
    return [_montar(grupo, inicio) for grupo in grupos]


def mostrar_decorrido(desde: datetime, ate: datetime) -> str:
    """`+12 s`, `+3 min 20 s`, `+2 h 5 min` depois do começo; vazio se foi antes dele."""
    segundos = int((ate - desde).total_seconds())
    if segundos < 0:
        return ""
    if segundos < 60:
        return f"+{segundos} s"
    if segundos < 3600:
        return f"+{segundos // 60} min {segundos % 60} s"
    return f"+{segundos // 3600} h {segundos % 3600 // 60} min"


def _assunto(evento: Evento) -> tuple:
    """O que faz dois eventos seguidos serem a mesma coisa de novo."""
    return (
        evento.tipo,
        evento.erro_id,
        evento.nome,
        evento.mensagem,
        evento.metodo,
        evento.status,
        evento.url,
        evento.seletor,
        evento.texto,
        evento.metrica,
        evento.usuario_id,
    )


def _montar(grupo: list[Evento], inicio: datetime) -> Passo:
    recente, antigo = grupo[0], grupo[-1]
    falhou = recente.tipo == TipoDeEvento.REQUISICAO and (recente.status or 0) >= FALHA_HTTP
    return Passo(
        evento=recente,
        descricao=descrever(recente),
        icone=ICONES.get(recente.tipo, "circle"),
        cor="danger" if falhou else CORES_DOS_TIPOS.get(recente.tipo, ""),
        vezes=len(grupo),
        comecou_em=antigo.ocorrido_em,
        desde_o_inicio=mostrar_decorrido(inicio, antigo.ocorrido_em),
    )
