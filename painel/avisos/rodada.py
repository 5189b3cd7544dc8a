"""Uma rodada: olhar, comparar com o que estava aberto, e gravar as mudanças com as entregas que elas pedem.

Tudo numa transação, uma rodada por vez (trava consultiva): uma queda no meio não deixa nada pela metade, e
dois workers não avisam em dobro. Nada sai daqui: `entrega.py` manda depois do COMMIT.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F, Max

from ingestao.models import Erro, EstadoDoErro
from painel.avisos.conteudo import montar
from painel.avisos.observacao import observar
from painel.avisos.regras import (
    ITENS_MAXIMOS,
    Aberto,
    Atencao,
    Mudancas,
    Observacao,
    comparar,
    decidir_movimento,
    sair_em,
)
from painel.models import Aviso, Canal, DestinoDeAviso, EntregaDeAviso, TipoDeAviso

TRAVA_DA_RODADA = 0x4C415354_41564953  # "LASTAVIS": o número da trava consultiva desta tarefa
Motivo, Situacao = EntregaDeAviso.Motivo, EntregaDeAviso.Situacao
ACABOU_ANTES = "A condição acabou antes de a mensagem sair."


class Ouvinte(NamedTuple):
    """Quem pode ouvir um aviso: um destino, ou o dono de um aplicativo. É a chave da fila."""

    destino_id: int | None
    aplicativo_id: Any


@dataclass(slots=True)
class Feito:
    """O que a rodada mudou, em quantidades."""

    abertos: int = 0
    resolvidos: int = 0


def rodar(agora: datetime) -> Feito | None:
    """Faz uma rodada; None se outra está em curso."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [TRAVA_DA_RODADA])
            if not cursor.fetchone()[0]:
                return None
        observacoes = {(o.tipo, o.alvo): o for o in observar(agora)}
        abertos = {(a.tipo, a.alvo): a for a in Aviso.objects.filter(resolvido_em=None).select_for_update()}
        mudancas = comparar(map(_ver, abertos.values()), observacoes.values(), agora)
        novos = {(a.tipo, a.alvo): a for a in _abrir(mudancas.abrir, agora)}
        _continuar(mudancas, abertos, agora)
        resolvidos = _resolver([abertos.pop(chave) for chave in mudancas.resolver], agora)
        vivos = [(aviso, observacoes.get(chave)) for chave, aviso in (abertos | novos).items()]
        _enfileirar(vivos, resolvidos, agora)
    return Feito(abertos=len(novos), resolvidos=len(resolvidos))


def _ver(aviso: Aviso) -> Aberto:
    chaves = frozenset(item["chave"] for item in aviso.itens)
    return Aberto(tipo=aviso.tipo, alvo=aviso.alvo, visto_em=aviso.visto_em, chaves=chaves)


def _abrir(observacoes: Iterable[Observacao], agora: datetime) -> list[Aviso]:
    return Aviso.objects.bulk_create(
        Aviso(
            tipo=o.tipo,
            alvo=o.alvo,
            aplicativo_id=o.aplicativo_id,
            aberto_em=agora,
            novidade_em=agora,
            **_medida(o, agora),
        )
        for o in observacoes
    )


def _continuar(mudancas: Mudancas, abertos: dict[tuple[str, str], Aviso], agora: datetime) -> None:
    avisos = []
    for observacao in mudancas.continuar:
        chave = (observacao.tipo, observacao.alvo)
        aviso = abertos[chave]
        for campo, valor in _medida(observacao, agora).items():
            setattr(aviso, campo, valor)
        if chave in mudancas.com_novidade:
            aviso.novidade_em = agora
        avisos.append(aviso)
    campos = ["titulo", "valor", "itens", "qtd_itens", "critico", "visto_em", "novidade_em"]
    Aviso.objects.bulk_update(avisos, campos)


def _medida(observacao: Observacao, agora: datetime) -> dict[str, Any]:
    """O que muda a cada rodada."""
    return {
        "titulo": observacao.titulo[:300],
        "valor": observacao.valor,
        "itens": [asdict(item) for item in observacao.itens[:ITENS_MAXIMOS]],
        "qtd_itens": observacao.qtd_itens,
        "critico": observacao.critico,
        "visto_em": agora,
    }


def _resolver(avisos: list[Aviso], agora: datetime) -> list[Aviso]:
    for aviso in avisos:
        aviso.resolvido_em = agora
    Aviso.objects.bulk_update(avisos, ["resolvido_em"])
    return avisos


def _enfileirar(
    vivos: list[tuple[Aviso, Observacao | None]], resolvidos: list[Aviso], agora: datetime
) -> None:
    """Grava as entregas que a rodada pede."""
    destinos = list(DestinoDeAviso.objects.filter(ativo=True).order_by("id"))
    ouviram = _dispensar_as_que_nao_sairam(resolvidos, agora)
    entregas = [
        _para_destino(aviso, destino, Motivo.RESOLVEU, agora)
        for aviso in resolvidos
        for destino in destinos
        if (aviso.pk, destino.pk) in ouviram
    ]
    ultimas = _ultimas_entregas([aviso.pk for aviso, _ in vivos])
    for aviso, observacao in vivos:
        ouvintes = [destino for destino in destinos if _interessa(destino, aviso)]
        for destino in ouvintes:
            ultima_em = ultimas.get((aviso.pk, Ouvinte(destino.pk, None)))
            motivo = decidir_movimento(
                _atencao(aviso), ultima_em=ultima_em, repetir_apos_h=destino.repetir_apos_h, agora=agora
            )
            if motivo is not None:
                entregas.append(_para_destino(aviso, destino, motivo, agora))
        if observacao is not None and observacao.avisa_dono:
            ultima_em = ultimas.get((aviso.pk, Ouvinte(None, aviso.aplicativo_id)))
            entregas += _para_o_dono(aviso, ouvintes, ultima_em, agora)
    # O índice parcial recusa a segunda pendente do mesmo aviso para o mesmo ouvinte: a primeira já o dirá.
    EntregaDeAviso.objects.bulk_create(entregas, ignore_conflicts=True)


def _atencao(aviso: Aviso) -> Atencao:
    return Atencao(
        tipo=aviso.tipo,
        novidade_em=aviso.novidade_em,
        silenciado_ate=aviso.silenciado_ate,
        reconhecido_em=aviso.reconhecido_em,
    )


def _interessa(destino: DestinoDeAviso, aviso: Aviso) -> bool:
    return aviso.tipo in destino.tipos and destino.aplicativo_id in (None, aviso.aplicativo_id)


def _para_destino(aviso: Aviso, destino: DestinoDeAviso, motivo: str, agora: datetime) -> EntregaDeAviso:
    return EntregaDeAviso(
        aviso=aviso,
        destino=destino,
        canal=destino.canal,
        motivo=motivo,
        conteudo=montar(aviso, motivo, agora),
        criada_em=agora,
        fixada_em=agora,
        disponivel_em=hora_de_sair(destino, critico=aviso.critico, agora=agora),
    )


def _para_o_dono(
    aviso: Aviso, ouvintes: list[DestinoDeAviso], ultima_em: datetime | None, agora: datetime
) -> list[EntregaDeAviso]:
    """A mensagem aos e-mails do aplicativo, fora os que já a recebem por um destino; no máximo uma.

    O dono ouve a abertura e a novidade: nem lembretes, nem o fim.
    """
    motivo = decidir_movimento(_atencao(aviso), ultima_em=ultima_em, repetir_apos_h=None, agora=agora)
    if motivo is None or aviso.aplicativo is None:
        return []
    ja_ouvem = {
        email.lower()
        for destino in ouvintes
        if destino.canal == Canal.EMAIL
        for email in destino.destinatarios()
    }
    dele = aviso.aplicativo.destinatarios()
    emails = [email for email in dele if email.lower() not in ja_ouvem]
    if dele and aviso.tipo == TipoDeAviso.REGRESSAO:
        Erro.objects.filter(
            aplicativo=aviso.aplicativo, regrediu_em__isnull=False, estado=EstadoDoErro.ABERTO
        ).update(regressao_avisada_em=F("regrediu_em"))
    if not emails:
        return []
    return [
        EntregaDeAviso(
            aviso=aviso,
            aplicativo=aviso.aplicativo,
            canal=Canal.EMAIL,
            emails=", ".join(emails),
            motivo=motivo,
            conteudo=montar(aviso, motivo, agora),
            criada_em=agora,
            fixada_em=agora,
            disponivel_em=agora,
        )
    ]


def hora_de_sair(destino: DestinoDeAviso, *, critico: bool, agora: datetime) -> datetime:
    """Agora, ou quando o silêncio do destino acaba."""
    if critico and destino.critico_fura:
        return agora
    return sair_em(agora, destino.silencio_de, destino.silencio_ate, destino.fuso)


def _dispensar_as_que_nao_sairam(resolvidos: list[Aviso], agora: datetime) -> set[tuple[Any, int]]:
    """Tira da fila o que falava de uma condição que acabou; devolve os (aviso, destino) que chegaram a ouvir.

    A que está sendo mandada neste instante fica (SKIP LOCKED): conta como ouvida.
    """
    das_resolvidas = EntregaDeAviso.objects.filter(aviso__in=resolvidos)
    pendentes = das_resolvidas.filter(situacao=Situacao.PENDENTE).exclude(motivo=Motivo.RESOLVEU)
    nao_sairam = list(pendentes.select_for_update(skip_locked=True).values_list("pk", flat=True))
    das_resolvidas.filter(pk__in=nao_sairam).update(
        situacao=Situacao.DISPENSADA, encerrada_em=agora, encerramento=ACABOU_ANTES
    )
    tentadas = das_resolvidas.exclude(situacao=Situacao.DISPENSADA, tentativas=0)
    return set(tentadas.filter(destino__isnull=False).values_list("aviso_id", "destino_id"))


def _ultimas_entregas(avisos: list[Any]) -> dict[tuple[Any, Ouvinte], datetime]:
    """De quando é o que cada ouvinte ouviu por último de cada aviso. Índice: entrega_do_aviso."""
    linhas = (
        EntregaDeAviso.objects.filter(aviso_id__in=avisos)
        .order_by()
        .values_list("aviso_id", "destino_id", "aplicativo_id")
        .annotate(ultima=Max("fixada_em"))
    )
    return {(aviso, Ouvinte(destino, dono)): ultima for aviso, destino, dono, ultima in linhas}
