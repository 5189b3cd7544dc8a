"""Das medidas aos gráficos: a mesma série para um aparelho ou para todos, por hora ou por dia."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from uuid import UUID

from django.utils import timezone

from ingestao.capturas.consultas import Passo, resumir_por_periodo
from ingestao.capturas.medidas import Distribuicao, Resumo, truncar_na_hora
from painel.admin.capturas.codigos import nomear
from painel.graficos import (
    Grafico,
    Rotulo,
    Serie,
    Tom,
    montar_barras,
    montar_linhas,
    mostrar_bytes,
    mostrar_duracao,
    mostrar_percentual,
    rotular_dias,
    rotular_horas,
)

HORAS, DIAS = 24, 30
POR_DIA = "dias"
TONS = (Tom.VERMELHO, Tom.AMBAR, Tom.ROSA, Tom.VIOLETA, Tom.AZUL)  # os outros motivos se juntam, em cinza

Pontos = Sequence[Resumo | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Janela:
    """O que os gráficos cobrem: um ponto por início, de [inicios[0], ate)."""

    passo: Passo
    inicios: list[datetime]
    ate: datetime
    rotulos: list[Rotulo]
    frase: str

    @property
    def de(self) -> datetime:
        return self.inicios[0]


def escolher_janela(por: str | None, agora: datetime) -> Janela:
    """Trinta dias, ou vinte e quatro horas: a hora de agora e as vinte e três antes dela."""
    if por == POR_DIA:
        hoje = timezone.localdate(agora)
        dias = [hoje - timedelta(days=n) for n in range(DIAS - 1, -1, -1)]
        inicios = [timezone.make_aware(datetime.combine(dia, time.min)) for dia in dias]
        return Janela(
            passo=Passo.DIA, inicios=inicios, ate=agora, rotulos=rotular_dias(dias), frase="em 30 dias"
        )
    inicios = [truncar_na_hora(agora) - timedelta(hours=n) for n in range(HORAS - 1, -1, -1)]
    return Janela(
        passo=Passo.HORA, inicios=inicios, ate=agora, rotulos=rotular_horas(inicios), frase="em 24 horas"
    )


def buscar_pontos(janela: Janela, dispositivo_id: UUID | None = None) -> list[Resumo | None]:
    """Um resumo por ponto da janela, None onde nada houve. Uma ida ao banco."""
    achados = dict(resumir_por_periodo(janela.de, janela.ate, janela.passo, dispositivo_id))
    return [achados.get(inicio) for inicio in janela.inicios]


def montar_graficos(pontos: Pontos, janela: Janela, ligar: Callable[[str, str], str]) -> list[Grafico]:
    """Os sete gráficos. `ligar(o_que, codigo)` é o endereço da lista por trás de um total, ou vazio."""
    return [
        _latencia(pontos, janela),
        _reenvios(pontos, janela),
        montar_barras(
            id="gravadas",
            titulo="Capturas gravadas",
            rotulos=janela.rotulos,
            series=[
                Serie(
                    nome="gravadas",
                    tom=Tom.VERDE,
                    valores=[p.gravadas if p else 0 for p in pontos],
                    url=ligar("gravadas", ""),
                )
            ],
            vazio=f"Nada foi gravado {janela.frase}.",
        ),
        _bytes(pontos, janela),
        _razao(pontos, janela),
        _descartes(pontos, janela, ligar),
        _recusados(pontos, janela, ligar),
    ]


def _latencia(pontos: Pontos, janela: Janela) -> Grafico:
    return montar_linhas(
        id="latencia",
        titulo="Da captura ao ACK",
        rotulos=janela.rotulos,
        series=_percentis(pontos, lambda resumo: resumo.latencia_ms),
        vazio=f"Nenhuma latência informada {janela.frase}.",
        mostrar=mostrar_duracao,
    )


def _bytes(pontos: Pontos, janela: Janela) -> Grafico:
    return montar_linhas(
        id="bytes",
        titulo="Bytes por evento",
        rotulos=janela.rotulos,
        series=_percentis(pontos, lambda resumo: resumo.bytes),
        vazio=f"Nada foi gravado {janela.frase}.",
        mostrar=mostrar_bytes,
    )


def _razao(pontos: Pontos, janela: Janela) -> Grafico:
    return montar_linhas(
        id="razao",
        titulo="Área do recorte ÷ área do quadro",
        rotulos=janela.rotulos,
        series=_percentis(pontos, lambda resumo: resumo.razao, 100),
        vazio=f"Nenhum recorte com quadro {janela.frase}.",
        mostrar=mostrar_percentual,
    )


def _reenvios(pontos: Pontos, janela: Janela) -> Grafico:
    """Duas taxas sobre o que chegou: o link que perdeu o ACK, e a fila que esqueceu que entregou."""
    return montar_linhas(
        id="reenvios",
        titulo="Taxa de reenvio",
        rotulos=janela.rotulos,
        series=[
            Serie(
                nome="link (o ACK se perdeu)",
                tom=Tom.AZUL,
                valores=[_taxa(p, p.reenvios_link) if p else None for p in pontos],
            ),
            Serie(
                nome="fila (defeito no aparelho)",
                tom=Tom.VERMELHO,
                valores=[_taxa(p, p.reenvios_fila) if p else None for p in pontos],
            ),
        ],
        vazio=f"Nada chegou {janela.frase}.",
        mostrar=mostrar_percentual,
    )


def _taxa(resumo: Resumo, reenvios: int) -> float | None:
    """Reenvios em % do que chegou (gravadas mais todos os reenvios)."""
    chegadas = resumo.gravadas + resumo.reenvios_link + resumo.reenvios_fila
    return reenvios * 100 / chegadas if chegadas else None


def _descartes(pontos: Pontos, janela: Janela, ligar: Callable[[str, str], str]) -> Grafico:
    return montar_barras(
        id="descartes",
        titulo="Descartados pelo aparelho, por motivo",
        rotulos=janela.rotulos,
        series=_por_codigo(
            [p.descartados if p else {} for p in pontos], lambda codigo: ligar("descartes", codigo)
        ),
        vazio=f"Nenhum descarte {janela.frase}.",
    )


def _recusados(pontos: Pontos, janela: Janela, ligar: Callable[[str, str], str]) -> Grafico:
    return montar_barras(
        id="recusados",
        titulo="Inválidos e conflitos, por código",
        rotulos=janela.rotulos,
        series=_por_codigo(
            [{**p.invalidos, **p.conflitos} if p else {} for p in pontos],
            lambda codigo: ligar("recusados", codigo),
        ),
        vazio=f"Nenhum inválido nem conflito {janela.frase}.",
    )


def _percentis(pontos: Pontos, qual: Callable[[Resumo], Distribuicao], vezes: int = 1) -> list[Serie]:
    medidas = [qual(ponto) if ponto else None for ponto in pontos]
    return [
        Serie(
            nome="p50",
            tom=Tom.PETROLEO,
            valores=[None if m is None or m.p50 is None else m.p50 * vezes for m in medidas],
        ),
        Serie(
            nome="p95",
            tom=Tom.AMBAR,
            valores=[None if m is None or m.p95 is None else m.p95 * vezes for m in medidas],
        ),
    ]


def _por_codigo(contagens: Sequence[Mapping[str, int]], ligar: Callable[[str], str]) -> list[Serie]:
    """Os códigos que mais houve, cada um com o seu tom, e os demais juntos."""
    somas: Counter[str] = Counter()
    for ponto in contagens:
        somas.update(ponto)
    maiores = sorted(somas, key=lambda codigo: (-somas[codigo], codigo))[: len(TONS)]
    series = [
        Serie(
            nome=nomear(codigo),
            tom=tom,
            valores=[ponto.get(codigo, 0) for ponto in contagens],
            url=ligar(codigo),
        )
        for codigo, tom in zip(sorted(maiores), TONS, strict=False)
    ]
    if len(somas) > len(maiores):
        soltos = [sum(q for codigo, q in ponto.items() if codigo not in maiores) for ponto in contagens]
        series.append(Serie(nome="outros", tom=Tom.CINZA, valores=soltos))
    return series
