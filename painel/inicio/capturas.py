"""As capturas das últimas 24 horas: latência até o ACK, reenvios, descartes, e os aparelhos que se calaram."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from ingestao.capturas.consultas import Passo, listar_silenciosos, resumir, resumir_por_periodo
from ingestao.capturas.medidas import (
    DESCARTADOS,
    LATENCIA_MS,
    REENVIO_FILA,
    REENVIO_LINK,
    Distribuicao,
    Resumo,
    truncar_na_hora,
)
from ingestao.models import Dispositivo, MedidaDeCaptura
from painel.admin.ficha import mostrar_espera
from painel.admin.texto_alheio import neutralizar
from painel.admin.texto_alheio import resumir as resumir_texto
from painel.graficos import Serie, Tom, montar_linhas, mostrar_duracao, rotular_horas
from painel.inicio.visao import Visao

HORAS = 24
SILENCIOSOS_LISTADOS = 5
SEM_AMOSTRAS = Distribuicao(amostras=0, p50=None, p95=None)


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
    """Quatro idas ao banco."""
    ultima = truncar_na_hora(agora)
    horas = [ultima - timedelta(hours=n) for n in range(HORAS - 1, -1, -1)]
    por_hora = dict(resumir_por_periodo(horas[0], agora, Passo.HORA))
    silenciosos = listar_silenciosos(agora)
    return Capturas(
        horas=horas,
        por_hora=[por_hora[hora].latencia_ms if hora in por_hora else SEM_AMOSTRAS for hora in horas],
        resumo=resumir(horas[0], agora),
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
        "reenvios": [
            ("Reenvios por link", "o ACK se perdeu no caminho", resumo.reenvios_link, lista(REENVIO_LINK)),
            ("Reenvios por fila", "defeito na fila do aparelho", resumo.reenvios_fila, lista(REENVIO_FILA)),
        ],
        "descartes": [
            (neutralizar(motivo.replace("_", " ")), quantos, lista(DESCARTADOS + motivo))
            for motivo, quantos in sorted(resumo.descartados.items(), key=lambda par: (-par[1], par[0]))
        ],
        "qtd_descartes": capturas.descartes,
        "url_dos_descartes": lista(DESCARTADOS),
        "qtd_silenciosos": capturas.qtd_silenciosos,
        "url_dos_silenciosos": visao.lista(Dispositivo, contato="silencioso"),
        "silenciosos": [
            {
                "nome": resumir_texto(aparelho.nome, 50),
                "url": visao.pagina(Dispositivo, aparelho.pk),
                "desde": mostrar_espera(aparelho.ultimo_contato_em or aparelho.criado_em, agora),
            }
            for aparelho in capturas.silenciosos
        ],
    }
