"""O que chega e o que é recusado: por minuto na última hora, por dia nos últimos trinta, nos três fluxos."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

from dlr.models import RecepcaoPorDia, RecepcaoPorMinuto, RecusaDeCallback
from ingestao.models import Captura, Evento, Recusa, RecusaDeCaptura, Uso, UsoPorMinuto
from painel.graficos import Grafico, Rotulo, Serie, Tom, montar_barras, rotular_dias, rotular_minutos
from painel.inicio.motivos import nomear_motivo
from painel.inicio.visao import Visao

MINUTOS, DIAS = 60, 30
CAPTURAS_CONTADAS = 50_000  # na última hora: 14 por segundo, muito além de câmeras que detectam algo
MOTIVOS_A_VISTA = 5  # os outros se juntam: mais que isto não se distingue num gráfico

SITES: Final = "sites"
RECIBOS: Final = "recibos"
CAPTURAS: Final = "capturas"
NOMES = {SITES: "Eventos", RECIBOS: "Recibos", CAPTURAS: "Capturas"}
TONS = {SITES: Tom.PETROLEO, RECIBOS: Tom.VIOLETA, CAPTURAS: Tom.VERDE}
TONS_DAS_RECUSAS = (Tom.VERMELHO, Tom.AMBAR, Tom.ROSA, Tom.VIOLETA, Tom.AZUL)

# Um motivo vazio é o que entrou. Numa recusa vale o maior dos dois números da linha: os eventos que se chegou a
# ler, ou as requisições que nem isso. Todas devolvem (instante, motivo, quantas), e o índice está no fim da linha.
SQL_POR_MINUTO = {
    SITES: """
        SELECT minuto, motivo, sum(CASE motivo WHEN '' THEN quantidade_eventos
            ELSE greatest(quantidade_requisicoes, quantidade_eventos) END)::bigint
        FROM ingestao_usoporminuto WHERE minuto > %(desde)s GROUP BY 1, 2
    """,  # uso_unico_no_minuto
    RECIBOS: """
        SELECT minuto, motivo, sum(quantidade)::bigint
        FROM dlr_recepcaoporminuto WHERE minuto > %(desde)s GROUP BY 1, 2
    """,  # recepcao_unica_no_minuto
    CAPTURAS: """
        SELECT date_trunc('minute', gravado_em), '', count(*) FROM (
            SELECT gravado_em FROM ingestao_captura WHERE gravado_em >= %(desde)s
            ORDER BY gravado_em DESC LIMIT %(teto)s
        ) AS recente GROUP BY 1
    """,  # captura_por_gravacao, só o índice
}
SQL_POR_DIA = {
    SITES: """
        SELECT dia, '', sum(quantidade_eventos)::bigint FROM ingestao_uso WHERE dia >= %(dia)s GROUP BY 1
        UNION ALL
        SELECT dia, motivo, sum(greatest(quantidade_requisicoes, quantidade_eventos))::bigint
        FROM ingestao_recusa WHERE dia >= %(dia)s GROUP BY 1, 2
    """,  # uso_por_dia, recusa_por_dia
    RECIBOS: """
        SELECT dia, '', sum(quantidade)::bigint FROM dlr_recepcaopordia WHERE dia >= %(dia)s GROUP BY 1
        UNION ALL
        SELECT dia, motivo, sum(quantidade)::bigint FROM dlr_recusadecallback WHERE dia >= %(dia)s GROUP BY 1, 2
    """,  # recepcao_unica_no_dia; as recusas são poucas linhas por dia
    CAPTURAS: """
        SELECT (hora AT TIME ZONE %(fuso)s)::date, '', sum(quantidade)::bigint
        FROM ingestao_medidadecaptura WHERE medida = 'gravadas' AND hora >= %(meia_noite)s GROUP BY 1
        UNION ALL
        SELECT dia, motivo, sum(quantidade)::bigint FROM ingestao_recusadecaptura WHERE dia >= %(dia)s GROUP BY 1, 2
    """,  # medida_gravadas_por_hora, só o índice
}

Contagens = dict[tuple[str, str], list[int]]  # (fluxo, motivo) → uma contagem por instante


@dataclass(frozen=True, slots=True, kw_only=True)
class Chegadas:
    """As contagens de cada fluxo e motivo (vazio = o que entrou), alinhadas com `minutos` e com `dias`."""

    fluxos: tuple[str, ...]
    minutos: list[datetime]
    dias: list[date]
    por_minuto: Contagens
    por_dia: Contagens

    def na_hora(self, *, recusado: bool) -> int:
        """O total da última hora, do que entrou ou do que foi recusado."""
        return sum(sum(v) for (_, motivo), v in self.por_minuto.items() if bool(motivo) == recusado)

    def hoje(self, fluxo: str, *, recusado: bool) -> int:
        """O total de hoje de um fluxo."""
        return sum(
            v[-1] for (de, motivo), v in self.por_dia.items() if de == fluxo and bool(motivo) == recusado
        )

    def maior_recusa(self) -> str | None:
        """O motivo que mais recusou na última hora, por extenso."""
        recusas = {motivo: sum(v) for (_, motivo), v in self.por_minuto.items() if motivo and sum(v)}
        return nomear_motivo(max(recusas, key=lambda motivo: (recusas[motivo], motivo))) if recusas else None


def fluxos_visiveis(visao: Visao) -> tuple[str, ...]:
    """Os fluxos cuja chegada a pessoa pode ver: quem vê os registros vê quantos são."""
    permissoes = {
        SITES: ("ingestao.view_uso", "ingestao.view_evento"),
        RECIBOS: ("dlr.view_recepcao",),
        CAPTURAS: ("ingestao.view_captura",),
    }
    return tuple(fluxo for fluxo, pede in permissoes.items() if visao.pode(*pede))


def buscar_chegadas(fluxos: Sequence[str], agora: datetime) -> Chegadas:
    """Duas idas ao banco por fluxo, sobre tabelas de contagem."""
    ultimo = agora.replace(second=0, microsecond=0)
    minutos = [ultimo - timedelta(minutes=n) for n in range(MINUTOS - 1, -1, -1)]
    hoje = timezone.localdate(agora)
    dias = [hoje - timedelta(days=n) for n in range(DIAS - 1, -1, -1)]
    meia_noite = timezone.make_aware(datetime.combine(dias[0], datetime.min.time()))
    valores = {
        "desde": minutos[0] - timedelta(microseconds=1),
        "dia": dias[0],
        "meia_noite": meia_noite,
        "fuso": settings.TIME_ZONE,
        "teto": CAPTURAS_CONTADAS,
    }
    return Chegadas(
        fluxos=tuple(fluxos),
        minutos=minutos,
        dias=dias,
        por_minuto=_contar(SQL_POR_MINUTO, fluxos, valores, minutos),
        por_dia=_contar(SQL_POR_DIA, fluxos, valores, dias),
    )


def _contar(
    consultas: Mapping[str, str], fluxos: Sequence[str], valores: dict[str, Any], instantes: Sequence[Any]
) -> Contagens:
    posicao = {instante: indice for indice, instante in enumerate(instantes)}
    contagens: Contagens = defaultdict(lambda: [0] * len(instantes))
    with connection.cursor() as cursor:
        for fluxo in fluxos:
            cursor.execute(consultas[fluxo], valores)
            for instante, motivo, quantas in cursor.fetchall():
                if (indice := posicao.get(instante)) is not None:
                    contagens[fluxo, motivo][indice] += quantas
    return dict(contagens)


def montar_chegadas(chegadas: Chegadas, visao: Visao) -> dict[str, list[Grafico]]:
    """Os quatro gráficos: chegadas e recusas, da hora e do mês."""
    minutos, dias = rotular_minutos(chegadas.minutos), rotular_dias(chegadas.dias)
    return {
        "hora": [
            _entradas("chegadas-hora", "Chegadas", minutos, chegadas.por_minuto, chegadas.fluxos, visao),
            _recusas("recusas-hora", "Recusas por motivo", minutos, chegadas.por_minuto, visao),
        ],
        "mes": [
            _entradas("chegadas-mes", "Chegadas", dias, chegadas.por_dia, chegadas.fluxos, visao),
            _recusas("recusas-mes", "Recusas por motivo", dias, chegadas.por_dia, visao),
        ],
    }


def montar_fluxos(chegadas: Chegadas, visao: Visao) -> list[dict[str, Any]]:
    """Os números de hoje, um por fluxo: o que entrou e o que foi recusado, e as listas deles."""
    listas = {
        SITES: (visao.lista(Uso, periodo="hoje") or visao.lista(Evento, periodo="hoje"), Recusa),
        RECIBOS: (visao.lista(RecepcaoPorDia, periodo="hoje"), RecusaDeCallback),
        CAPTURAS: (visao.lista(Captura, periodo="hoje", situacao="todas"), RecusaDeCaptura),
    }
    rotulos = {SITES: "Eventos de sites hoje", RECIBOS: "Recibos hoje", CAPTURAS: "Capturas hoje"}
    icones = {SITES: "web", RECIBOS: "sms", CAPTURAS: "photo_camera"}
    return [
        {
            "fluxo": fluxo,
            "rotulo": rotulos[fluxo],
            "icone": icones[fluxo],
            "entrou": chegadas.hoje(fluxo, recusado=False),
            "url": listas[fluxo][0],
            "recusado": chegadas.hoje(fluxo, recusado=True),
            "url_das_recusas": visao.lista(listas[fluxo][1], periodo="hoje"),
        }
        for fluxo in chegadas.fluxos
    ]


def _entradas(
    id_: str,
    titulo: str,
    rotulos: Sequence[Rotulo],
    contagens: Contagens,
    fluxos: Sequence[str],
    visao: Visao,
) -> Grafico:
    da_hora = id_.endswith("-hora")
    urls = {
        SITES: visao.lista(UsoPorMinuto, periodo="hora", motivo="-")
        if da_hora
        else visao.lista(Uso, periodo="30d"),
        RECIBOS: visao.lista(RecepcaoPorMinuto, periodo="hora", motivo="-")
        if da_hora
        else visao.lista(RecepcaoPorDia, periodo="30d"),
        CAPTURAS: visao.lista(Captura, periodo="hora" if da_hora else "30d", situacao="todas"),
    }
    zeros = [0] * len(rotulos)
    series = [
        Serie(nome=NOMES[f], tom=TONS[f], valores=contagens.get((f, ""), zeros), url=urls[f]) for f in fluxos
    ]
    vazio = "Nada chegou na última hora." if da_hora else "Nada chegou em trinta dias."
    return montar_barras(id=id_, titulo=titulo, rotulos=rotulos, series=series, vazio=vazio)


def _recusas(id_: str, titulo: str, rotulos: Sequence[Rotulo], contagens: Contagens, visao: Visao) -> Grafico:
    """Os motivos que mais recusaram, cada um com o seu tom, e os demais juntos."""
    somas = {chave: sum(v) for chave, v in contagens.items() if chave[1] and sum(v)}
    maiores = sorted(somas, key=lambda chave: (-somas[chave], chave))[:MOTIVOS_A_VISTA]
    # Em ordem de nome: a cor de um motivo não troca porque outro o passou.
    series = [
        Serie(
            nome=nomear_motivo(chave[1]),
            tom=tom,
            valores=contagens[chave],
            url=_lista_das_recusas(visao, *chave, da_hora=id_.endswith("-hora")),
        )
        for chave, tom in zip(sorted(maiores), TONS_DAS_RECUSAS, strict=False)
    ]
    if outros := [contagens[chave] for chave in somas if chave not in maiores]:
        soma = [sum(coluna) for coluna in zip(*outros, strict=True)]
        series.append(Serie(nome="outros motivos", tom=Tom.CINZA, valores=soma))
    vazio = (
        "Nada foi recusado na última hora." if id_.endswith("-hora") else "Nada foi recusado em trinta dias."
    )
    return montar_barras(id=id_, titulo=titulo, rotulos=rotulos, series=series, vazio=vazio)


def _lista_das_recusas(visao: Visao, fluxo: str, motivo: str, *, da_hora: bool) -> str:
    do_minuto = {SITES: UsoPorMinuto, RECIBOS: RecepcaoPorMinuto}
    do_dia = {SITES: Recusa, RECIBOS: RecusaDeCallback, CAPTURAS: RecusaDeCaptura}
    if da_hora:
        return visao.lista(do_minuto[fluxo], periodo="hora", motivo=motivo)
    return visao.lista(do_dia[fluxo], periodo="30d", motivo=motivo)
