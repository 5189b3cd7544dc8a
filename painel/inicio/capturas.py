"""As capturas das últimas 24 horas: latência até o ACK, reenvios, descartes, e os aparelhos que se calaram."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from ingestao.capturas.consultas import listar_silenciosos
from ingestao.capturas.medidas import (
    CONFLITOS,
    DESCARTADOS,
    INVALIDOS,
    LATENCIA_MS,
    REENVIO_FILA,
    REENVIO_LINK,
    Contagens,
    Distribuicao,
    Resumo,
    resumir_contagens,
    truncar_na_hora,
)
from ingestao.models import Dispositivo, MedidaDeCaptura
from painel.admin.ficha import mostrar_espera
from painel.admin.texto_alheio import neutralizar, resumir
from painel.graficos import Serie, Tom, montar_linhas, mostrar_duracao, rotular_horas
from painel.inicio.visao import Visao

HORAS = 24
SILENCIOSOS_LISTADOS = 5

# Índice: medida_por_hora. Os tamanhos, que são a maior parte das linhas, não interessam aqui; e a hora já é cheia.
SQL_MEDIDAS = """
    SELECT hora, medida, faixa, sum(quantidade)::bigint FROM ingestao_medidadecaptura
    WHERE hora >= %(desde)s AND medida NOT IN ('bytes', 'razao_ppm')
    GROUP BY 1, 2, 3
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capturas:
    """`por_hora` tem a distribuição da latência de cada uma das `horas`; `resumo` soma as 24."""

    horas: list[datetime]
    por_hora: list[Distribuicao]
    resumo: Resumo
    silenciosos: list[Dispositivo]
    qtd_silenciosos: int

    @property
    def descartes(self) -> int:
        """Eventos que os aparelhos desistiram de mandar: perdidos, e ditos."""
        return sum(self.resumo.descartados.values())


def buscar_capturas(agora: datetime) -> Capturas:
    """Três idas ao banco."""
    ultima = truncar_na_hora(agora)
    horas = [ultima - timedelta(hours=n) for n in range(HORAS - 1, -1, -1)]
    por_hora: dict[datetime, Contagens] = {hora: Counter() for hora in horas}
    with connection.cursor() as cursor:
        cursor.execute(SQL_MEDIDAS, {"desde": horas[0]})
        for hora, medida, faixa, quantidade in cursor.fetchall():
            por_hora.setdefault(hora, Counter())[medida, faixa] += quantidade
    silenciosos = listar_silenciosos(agora)
    return Capturas(
        horas=horas,
        por_hora=[resumir_contagens(por_hora[hora]).latencia_ms for hora in horas],
        resumo=resumir_contagens(sum(por_hora.values(), Counter())),
        silenciosos=list(silenciosos[:SILENCIOSOS_LISTADOS]),
        qtd_silenciosos=silenciosos.count(),
    )


def montar_capturas(capturas: Capturas, visao: Visao, agora: datetime) -> dict[str, Any]:
    """O gráfico da latência, os números e os aparelhos calados."""
    resumo = capturas.resumo

    def lista(medida: str) -> str:
        return visao.lista(MedidaDeCaptura, quando="24h", medida=medida)

    series = [
        Serie(
            nome="p50",
            tom=Tom.PETROLEO,
            valores=[d.p50 for d in capturas.por_hora],
        ),
        Serie(nome="p95", tom=Tom.AMBAR, valores=[d.p95 for d in capturas.por_hora]),
    ]
    return {
        "grafico": montar_linhas(
            id="latencia",
            titulo="Da captura ao ACK, por hora",
            rotulos=rotular_horas(capturas.horas),
            series=series,
            vazio="Nenhuma latência relatada em 24 horas.",
        ),
        "p50": mostrar_duracao(resumo.latencia_ms.p50),
        "p95": mostrar_duracao(resumo.latencia_ms.p95),
        "url_da_latencia": lista(LATENCIA_MS),
        "contagens": [
            ("Reenvios por link", "o ACK se perdeu no caminho", resumo.reenvios_link, lista(REENVIO_LINK)),
            ("Reenvios por fila", "defeito na fila do aparelho", resumo.reenvios_fila, lista(REENVIO_FILA)),
            ("Inválidas", "recusadas uma a uma", sum(resumo.invalidos.values()), lista(INVALIDOS)),
            ("Em conflito", "id de outra captura", sum(resumo.conflitos.values()), lista(CONFLITOS)),
        ],
        "descartes": [
            (neutralizar(motivo.replace("_", " ")), quantos, lista(DESCARTADOS + motivo))
            for motivo, quantos in sorted(resumo.descartados.items(), key=lambda par: (-par[1], par[0]))
        ],
        "qtd_descartes": capturas.descartes,
        "url_dos_descartes": lista(DESCARTADOS),
        "url_de_criar": visao.criacao(Dispositivo),
        "qtd_silenciosos": capturas.qtd_silenciosos,
        "url_dos_silenciosos": visao.lista(Dispositivo, contato="silencioso"),
        "silenciosos": [
            {
                "nome": resumir(aparelho.nome, 50),
                "url": visao.pagina(Dispositivo, aparelho.pk),
                "desde": mostrar_espera(aparelho.ultimo_contato_em or aparelho.criado_em, agora),
            }
            for aparelho in capturas.silenciosos
        ],
    }
