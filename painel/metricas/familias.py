"""As famílias de `/metricas`: o nome, a unidade e a ajuda de cada uma, e de onde vem o número."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ingestao.caixa.medida import medir
from ingestao.capturas.consultas import contar_situacao, resumir
from ingestao.capturas.medidas import truncar_na_hora
from painel.metricas import consultas
from painel.metricas.vivos import workers_vivos
from painel.situacao import CAIXAS, contar_excecoes_recentes

FILA_CONTADA = 100_000  # itens; o dobro do maior teto da porta
UM_EM_MS = 1_000


# As amostras são {(valor de cada rótulo, em ordem): número}.
def _familia(
    nome: str,
    ajuda: str,
    rotulos: Iterable[str] = (),
    amostras: Mapping[Any, float] | None = None,
) -> Metric:
    familia = GaugeMetricFamily(f"lastro_{nome}", ajuda, labels=list(rotulos))
    for valores, numero in (amostras or {}).items():
        familia.add_metric(valores, numero)
    return familia


def _um(nome: str, ajuda: str, numero: float | None) -> Metric:
    return _familia(nome, ajuda, (), {} if numero is None else {(): numero})


def medir_sites() -> Iterator[Metric]:
    hoje = timezone.localdate()
    gravados, recusados = consultas.somar_uso(hoje)
    yield _um(
        "eventos_gravados_hoje", "Eventos gravados no dia (zera à meia-noite do LASTRO_FUSO).", gravados
    )
    yield _um("eventos_recusados_hoje", "Eventos recusados no dia.", recusados)
    recusas = consultas.somar_recusas(hoje)
    yield _familia(
        "chamadas_recusadas_hoje",
        "Requisições inteiras recusadas no dia, por fluxo e motivo.",
        ("fluxo", "motivo"),
        {(fluxo, motivo): n for fluxo, motivos in recusas.items() for motivo, n in motivos.items()},
    )
    yield _um("regressoes_abertas", "Erros que regrediram e ninguém triou.", consultas.contar_regressoes())
    yield _familia(
        "franquia_uso",
        "Uso do mês dividido pela franquia (1 = acabou).",
        ("aplicativo", "nome"),
        {(str(id_), nome): uso / franquia for id_, nome, franquia, uso in consultas.listar_franquias(hoje)},
    )


def medir_filas() -> Iterator[Metric]:
    agora = timezone.now()
    medidas = {nome: medir(caixa, limite=FILA_CONTADA) for nome, caixa in CAIXAS.items()}
    estacionados = {
        (nome,): caixa.modelo._default_manager.filter(estacionado_em__isnull=False).count()
        for nome, caixa in CAIXAS.items()
    }
    yield _familia(
        "fila_itens",
        "Itens por aplicar (até 100.000).",
        ("fila",),
        {(n,): m.profundidade for n, m in medidas.items()},
    )
    yield _familia(
        "fila_idade_segundos",
        "Espera do item mais antigo.",
        ("fila",),
        {(nome,): medida.idade_s(agora) for nome, medida in medidas.items()},
    )
    yield _familia("fila_estacionados", "Itens que esperam uma pessoa.", ("fila",), estacionados)


def medir_recibos() -> Iterator[Metric]:
    excecoes: Counter[tuple[str]] = Counter()
    for (_integracao, tipo), quantas in contar_excecoes_recentes().items():
        excecoes[(tipo,)] += quantas
    yield _familia(
        "excecoes_abertas",
        "Exceções de recibos abertas, por tipo (até 50.000).",
        ("tipo",),
        excecoes,
    )
    yield _familia(
        "mensagens",
        "Mensagens por dimensão: aceite, estado relatado, provas independentes. Acima de 20.000, estimativa.",
        ("dimensao", "estado"),
        consultas.contar_mensagens(),
    )


def medir_capturas() -> Iterator[Metric]:
    agora = timezone.now()
    hora = truncar_na_hora(agora)
    resumo = resumir(hora, hora + timedelta(hours=1))
    # Com a hora anterior: nos primeiros minutos de uma hora os percentis não podem ficar sem amostras.
    recente = resumir(hora - timedelta(hours=1), hora + timedelta(hours=1))
    situacao = contar_situacao(agora)
    yield _um(
        "capturas_gravadas_na_hora", "ACKs duráveis na hora corrente (zera a cada hora).", resumo.gravadas
    )
    yield _familia(
        "capturas_reenvios_na_hora",
        "Reenvios na hora: link (o ACK se perdeu) ou fila (defeito no aparelho).",
        ("causa",),
        {("link",): resumo.reenvios_link, ("fila",): resumo.reenvios_fila},
    )
    yield _familia(
        "capturas_latencia_segundos",
        "Da captura ao ACK durável, na hora corrente e na anterior.",
        ("quantil",),
        {
            (quantil,): valor / UM_EM_MS
            for quantil, valor in (("0.5", recente.latencia_ms.p50), ("0.95", recente.latencia_ms.p95))
            if valor is not None
        },
    )
    yield _familia(
        "capturas_descartadas_na_hora",
        "Eventos que os aparelhos disseram ter descartado, por motivo.",
        ("motivo",),
        {(motivo,): quantas for motivo, quantas in resumo.descartados.items()},
    )
    yield _um(
        "capturas_corte_parado",
        "1 se o recorte típico ocupa quase o quadro inteiro.",
        int(recente.corte_parado),
    )
    yield _um("dispositivos", "Aparelhos ativos.", situacao["dispositivos"])
    yield _um("dispositivos_silenciosos", "Aparelhos ativos sem contato.", situacao["silenciosos"])
    yield _um("pedidos_abertos", "Contestações à espera do quadro.", situacao["pedidos_abertos"])


def medir_avisos() -> Iterator[Metric]:
    pendentes, atraso_s, desistidas = consultas.medir_entregas(timezone.now())
    yield _familia(
        "avisos_abertos",
        "Condições abertas, por tipo.",
        ("tipo",),
        {(t,): n for t, n in consultas.contar_avisos().items()},
    )
    yield _um("avisos_entregas_pendentes", "Mensagens de aviso por mandar.", pendentes)
    yield _um(
        "avisos_entregas_atraso_segundos", "Há quanto espera a mensagem que já devia ter saído.", atraso_s
    )
    yield _um("avisos_entregas_desistidas", "Mensagens não entregues em 24 horas.", desistidas)


MEDIDORES: tuple[Callable[[], Iterator[Metric]], ...] = (
    medir_sites,
    medir_filas,
    medir_recibos,
    medir_capturas,
    medir_avisos,
)


BANCO_FORA = _um("banco_acessivel", "1 se o banco respondeu a esta coleta.", 0)


class ColetorDoLastro(Collector):
    """Tudo o que não é contagem da porta. Com o banco fora, diz isso e mostra o resto."""

    def collect(self) -> Iterator[Metric]:
        comeco = time.monotonic()
        familias: list[Metric] = []
        try:
            for medir_parte in MEDIDORES:
                familias.extend(medir_parte())
            familias.append(_um("banco_acessivel", BANCO_FORA.documentation, 1))
        except DatabaseError:
            familias.append(BANCO_FORA)
        yield from familias
        yield _um("workers_vivos", "Workers que responderam ao último ping.", workers_vivos.ler())
        yield _familia(
            "versao",
            "Sempre 1; a versão está no rótulo.",
            ("versao",),
            {(settings.SPECTACULAR_SETTINGS["VERSION"],): 1},
        )
        yield _um("coleta_segundos", "Quanto esta coleta levou.", time.monotonic() - comeco)


class ColetorSemBanco(Collector):
    """O que se diz enquanto outra coleta não volta do banco."""

    def collect(self) -> Iterator[Metric]:
        yield BANCO_FORA
