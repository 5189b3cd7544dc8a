"""Aplica muitos lotes numa transação: sessões, eventos, erros, uso e recusas, uma vez só.

Conta apenas as linhas que o banco disse ter inserido; por isso reenvio, ordem, corrida e queda
terminam iguais. Não enfileira nada: devolve o que deve seguir o COMMIT.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple
from uuid import NAMESPACE_OID, UUID

import orjson
from django.utils import timezone

from ingestao.caixa import Caixa
from ingestao.eventos import gravacao
from ingestao.eventos.agrupamento import Grupo, agrupar, e_erro
from ingestao.eventos.cota import PERCENTUAIS_DE_AVISO, periodo_de
from ingestao.eventos.minutos import somar_minutos
from ingestao.models import Lote

EVENTOS_POR_VEZ = 5_000  # por transação: ~10 MB na memória do worker e ~0,2 s de travas

_ESPACO_OID = NAMESPACE_OID.bytes

AVISAR = "avisar"  # seguimento: há aviso de franquia ou regressão por enviar

TIPO_SEM_LINHA = "PULSO"  # só marca atividade: não é gravado e não conta no uso

ChaveDaSessao = tuple[
    str, str
]  # aplicativo e sessão externa; em texto, porque o UUID custa seis vezes mais a achar
Linha = dict[str, Any]


class LoteRecebido(NamedTuple):
    """As colunas do lote que o processamento lê, na ordem em que a caixa as entrega, e o dia do uso."""

    id: int
    peso: int
    recebido_em: datetime
    aplicativo_id: str | None
    conteudo: bytes | None
    recusas: dict[str, list[int]] | None
    dia: date


class EventoAberto(NamedTuple):
    """Um evento junto do lote que o trouxe; `evento` é a linha a gravar."""

    evento: Linha
    lote: LoteRecebido
    sessao: ChaveDaSessao
    grupo: Grupo | None


def aplicar_lotes(linhas: Sequence[tuple]) -> list[str]:
    """Aplica os lotes (tuplas de `LoteRecebido`) na transação aberta; devolve os seguimentos."""
    lotes = [_ler_lote(*linha) for linha in linhas]
    sessoes, abertos = _abrir(lotes)
    ids = _garantir_sessoes(sessoes)
    novos = _gravar_eventos(abertos, ids)
    regrediram = _somar_erros(novos)
    gravacao.somar_sessoes(_somas_das_sessoes(abertos, novos, ids))
    gravacao.marcar_primeiro_evento(_primeiros_eventos(novos))
    avisos = _somar_uso(lotes, novos)
    _somar_minutos(lotes, novos)
    return [AVISAR] if regrediram or avisos else []


def uuid5_texto(nome: str) -> str:
    """UUIDv5 (RFC 9562) de `nome` no espaço OID, em texto. Igual a `str(uuid5(NAMESPACE_OID, nome))`.

    Feito à mão porque o objeto UUID custa o dobro do próprio SHA-1, e isto roda uma vez por evento.
    """
    resumo = bytearray(hashlib.sha1(_ESPACO_OID + nome.encode(), usedforsecurity=False).digest()[:16])
    resumo[6] = resumo[6] & 0x0F | 0x50
    resumo[8] = resumo[8] & 0x3F | 0x80
    texto = resumo.hex()
    return f"{texto[:8]}-{texto[8:12]}-{texto[12:16]}-{texto[16:20]}-{texto[20:]}"


def _abrir(lotes: Iterable[LoteRecebido]) -> tuple[dict[ChaveDaSessao, Linha], list[EventoAberto]]:
    """Junta as sessões (vale o primeiro lote de cada uma) e os eventos de todos os lotes."""
    sessoes: dict[ChaveDaSessao, Linha] = {}
    abertos: list[EventoAberto] = []
    for lote in lotes:
        if lote.conteudo is None or lote.aplicativo_id is None:
            continue
        conteudo = orjson.loads(lote.conteudo)
        sessao, eventos = conteudo["sessao"], conteudo["eventos"]
        aplicativo, recebido_em = lote.aplicativo_id, lote.recebido_em.isoformat()
        chave = (aplicativo, sessao["sessao_externa"])
        if chave not in sessoes:
            ocorridos = [evento["ocorrido_em"] for evento in eventos]
            sessoes[chave] = {
                **sessao,
                "aplicativo_id": aplicativo,
                "primeira_atividade_em": min(ocorridos),
                "ultima_atividade_em": max(ocorridos),
                "criado_em": recebido_em,
            }
        for evento in eventos:
            evento["id"] = uuid5_texto(f"{aplicativo}:{evento['evento_id']}")
            evento["aplicativo_id"] = aplicativo
            evento["criado_em"] = recebido_em
            grupo = agrupar(evento) if e_erro(evento) else None
            if grupo is not None:
                evento["erro_id"] = uuid5_texto(f"{aplicativo}:v{grupo.versao}:{grupo.impressao}")
            abertos.append(EventoAberto(evento, lote, chave, grupo))
    return sessoes, abertos


def _garantir_sessoes(sessoes: dict[ChaveDaSessao, Linha]) -> dict[ChaveDaSessao, int]:
    """Cria as que faltam e segura todas; devolve os ids.

    Repete porque a retenção pode apagar uma sessão vencida antes de ser segurada; recriada nesta
    transação, ela já não pode sumir.
    """
    linhas = list(sessoes.values())
    while True:
        gravacao.criar_sessoes(linhas)
        ids = gravacao.segurar_sessoes(linhas)
        if len(ids) == len(sessoes):
            return ids


def _gravar_eventos(abertos: list[EventoAberto], ids: dict[ChaveDaSessao, int]) -> list[EventoAberto]:
    """Grava o que não é PULSO; devolve os que entraram agora, um por id (vale o primeiro do lote)."""
    primeiros: dict[str, EventoAberto] = {}
    for aberto in abertos:
        evento = aberto.evento
        if evento["tipo"] == TIPO_SEM_LINHA or evento["id"] in primeiros:
            continue
        primeiros[evento["id"]] = aberto
        evento["sessao_id"] = ids[aberto.sessao]
    entraram = gravacao.gravar_eventos([aberto.evento for aberto in primeiros.values()])
    return [aberto for id_, aberto in primeiros.items() if id_ in entraram]


def _somar_erros(novos: list[EventoAberto]) -> list[UUID]:
    """Soma as ocorrências novas aos grupos; devolve os que regrediram."""
    somas: dict[str, Linha] = {}
    chegadas: dict[str, datetime] = {}
    for evento, lote, _, grupo in novos:
        if grupo is None:
            continue
        erro_id = evento["erro_id"]
        soma = somas.get(erro_id)
        if soma is None:
            soma = somas[erro_id] = _linha_do_erro(evento, grupo)
        soma["quantidade"] += 1
        soma["primeira_ocorrencia_em"] = min(soma["primeira_ocorrencia_em"], evento["ocorrido_em"])
        soma["ultima_ocorrencia_em"] = max(soma["ultima_ocorrencia_em"], evento["ocorrido_em"])
        chegadas[erro_id] = max(chegadas.get(erro_id, lote.recebido_em), lote.recebido_em)
    gravacao.somar_erros(list(somas.values()))
    return gravacao.reabrir_erros([{"id": id_, "recebido_em": em} for id_, em in chegadas.items()])


def _linha_do_erro(evento: Linha, grupo: Grupo) -> Linha:
    """O grupo por gravar. O id é UUIDv5 de aplicativo, versão e impressão: não se consulta o banco."""
    return {
        "id": evento["erro_id"],
        "aplicativo_id": evento["aplicativo_id"],
        "impressao": grupo.impressao,
        "versao": grupo.versao,
        "tipo": evento["tipo"],
        "titulo": grupo.titulo,
        "local": grupo.local,
        "quantidade": 0,
        "primeira_ocorrencia_em": evento["ocorrido_em"],
        "ultima_ocorrencia_em": evento["ocorrido_em"],
    }


def _somas_das_sessoes(
    abertos: list[EventoAberto], novos: list[EventoAberto], ids: dict[ChaveDaSessao, int]
) -> list[Linha]:
    """Uma linha por sessão tocada. Atividade conta sempre (PULSO e repetido também); o resto, só o novo."""
    somas: dict[ChaveDaSessao, Linha] = {}
    for evento, _, chave, _ in abertos:
        ocorrido_em = evento["ocorrido_em"]
        soma = somas.get(chave)
        if soma is None:
            somas[chave] = {
                "id": ids[chave],
                "eventos": 0,
                "erros": 0,
                "primeira_atividade_em": ocorrido_em,
                "ultima_atividade_em": ocorrido_em,
            }
        elif ocorrido_em > soma["ultima_atividade_em"]:
            soma["ultima_atividade_em"] = ocorrido_em
        elif ocorrido_em < soma["primeira_atividade_em"]:
            soma["primeira_atividade_em"] = ocorrido_em
    for evento, _, chave, _ in novos:
        soma = somas[chave]
        soma["eventos"] += 1
        if "erro_id" in evento:
            soma["erros"] += 1
        if evento["tipo"] == "IDENTIFICACAO":
            _guardar_mais_recente(soma, evento, "usuario_id", "identificado_em", evento.get("usuario_id"))
        elif evento["tipo"] == "DESEMPENHO" and evento.get("metrica") == "CARREGAMENTO":
            tempo_ms = evento.get("valor", evento.get("duracao_ms"))
            if tempo_ms is not None and tempo_ms >= 0:
                _guardar_mais_recente(soma, evento, "tempo_carregamento_ms", "carregamento_em", tempo_ms)
    return list(somas.values())


def _guardar_mais_recente(soma: Linha, evento: Linha, campo: str, campo_em: str, valor: Any) -> None:
    """Fica com o valor do evento mais recente; no empate, o maior: assim a ordem não importa."""
    if valor is None:
        return
    candidato = (evento["ocorrido_em"], valor)
    if campo_em not in soma or candidato > (soma[campo_em], soma[campo]):
        soma[campo_em], soma[campo] = candidato


def _primeiros_eventos(novos: list[EventoAberto]) -> list[Linha]:
    primeiros: dict[str, datetime] = {}
    for _, lote, (aplicativo, _externa), _ in novos:
        primeiros[aplicativo] = min(primeiros.get(aplicativo, lote.recebido_em), lote.recebido_em)
    return [{"id": id_, "primeiro_evento_em": em} for id_, em in primeiros.items()]


def _somar_uso(lotes: list[LoteRecebido], novos: list[EventoAberto]) -> list[int]:
    """Soma eventos e recusas ao dia em que a porta recebeu; devolve os avisos de franquia novos."""
    uso: dict[tuple[str, date], list[int]] = defaultdict(lambda: [0, 0])
    recusas: dict[tuple[str | None, date, str], list[int]] = defaultdict(lambda: [0, 0])
    for _, lote, (aplicativo, _externa), _ in novos:
        uso[aplicativo, lote.dia][0] += 1
    for lote in lotes:
        for motivo, (requisicoes, eventos) in (lote.recusas or {}).items():
            soma = recusas[lote.aplicativo_id, lote.dia, motivo]
            soma[0] += requisicoes
            soma[1] += eventos
            if lote.aplicativo_id is not None:
                uso[lote.aplicativo_id, lote.dia][1] += eventos
    gravacao.somar_uso(
        [{"aplicativo_id": a, "dia": d, "eventos": n, "recusados": r} for (a, d), (n, r) in uso.items()]
    )
    gravacao.somar_recusas(
        [
            {"aplicativo_id": a, "dia": d, "motivo": m, "requisicoes": q, "eventos": e}
            for (a, d, m), (q, e) in recusas.items()
        ]
    )
    periodos = {(aplicativo, periodo_de(dia)) for (aplicativo, dia), (n, _) in uso.items() if n}
    return gravacao.avisar_franquia(
        [{"aplicativo_id": a, "periodo": p} for a, p in periodos], PERCENTUAIS_DE_AVISO, timezone.now()
    )


def _somar_minutos(lotes: list[LoteRecebido], novos: list[EventoAberto]) -> None:
    """O traço fino do uso, para as telas. Conta por lote antes de olhar a hora: são muitos eventos por lote."""
    por_lote = Counter([aberto.lote.id for aberto in novos])
    gravados: Counter[tuple[datetime, str]] = Counter()
    for lote in lotes:
        if lote.aplicativo_id is not None and lote.id in por_lote:
            gravados[lote.recebido_em, lote.aplicativo_id] += por_lote[lote.id]
    somar_minutos(
        gravados, ((lote.recebido_em, lote.aplicativo_id, lote.recusas) for lote in lotes if lote.recusas)
    )


def _ler_lote(
    id_: int,
    peso: int,
    recebido_em: datetime,
    aplicativo_id: UUID | None,
    conteudo: bytes | None,
    recusas: Any,
) -> LoteRecebido:
    aplicativo = None if aplicativo_id is None else str(aplicativo_id)
    return LoteRecebido(id_, peso, recebido_em, aplicativo, conteudo, recusas, _dia(recebido_em))


def _dia(recebido_em: datetime) -> date:
    """O dia do uso: o da recepção, no fuso do servidor (`LASTRO_FUSO`)."""
    return timezone.localtime(recebido_em).date()


CAIXA_DE_LOTES = Caixa(
    modelo=Lote,
    colunas=("recebido_em", "aplicativo_id", "conteudo", "recusas"),
    aplicar=aplicar_lotes,
    peso_por_vez=EVENTOS_POR_VEZ,
    tarefa="ingestao.tasks.processar_lotes",
)
