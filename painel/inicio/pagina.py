"""A página em blocos: cada um com o seu template, só os que a pessoa pode ver.

O mesmo bloco serve à página inteira e ao retrato que a mantém atualizada: há um jeito só de mostrar cada número.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import timezone

from painel.inicio.capturas import buscar_capturas, montar_capturas
from painel.inicio.chegadas import buscar_chegadas, fluxos_visiveis, montar_chegadas, montar_fluxos
from painel.inicio.cota import buscar_cotas, montar_cotas
from painel.inicio.erros import buscar_erros, montar_erros
from painel.inicio.excecoes import buscar_excecoes, montar_excecoes
from painel.inicio.faixa import responder, resumir_respostas
from painel.inicio.filas import buscar_filas, montar_filas
from painel.inicio.mensagens import buscar_mensagens, montar_mensagens
from painel.inicio.passos import Instalacao, buscar_instalacao, montar_passos
from painel.inicio.visao import Visao


@dataclass(frozen=True, slots=True, kw_only=True)
class Bloco:
    """Um pedaço da página: o nome (que é também a âncora), a faixa em que fica e o HTML.

    Blocos seguidos com o mesmo `lugar` se empilham nele; `inteira` e `metade` dizem a largura.
    """

    nome: str
    titulo: str
    largura: str
    lugar: str
    html: str


def montar_blocos(request: HttpRequest, agora: datetime) -> list[Bloco]:
    """Os blocos que a pessoa pode ver, na ordem da página. O número de consultas só depende das permissões."""
    visao, instalacao = Visao(request), buscar_instalacao()
    chegadas = buscar_chegadas(fluxos, agora) if (fluxos := fluxos_visiveis(visao)) else None
    filas = filas_vistas if (filas_vistas := buscar_filas(visao, agora)).filas else None
    capturas = buscar_capturas(agora) if visao.pode("ingestao.view_captura") else None
    respostas = responder(chegadas=chegadas, filas=filas, capturas=capturas, agora=agora)
    nivel, frase = resumir_respostas(respostas)
    blocos = [
        _bloco("faixa", "", "inteira", {"respostas": respostas, "nivel": nivel, "frase": frase}),
        _bloco("passos", "", "inteira", _passos(instalacao, visao)),
    ]
    if chegadas:
        graficos = montar_chegadas(chegadas, visao)
        blocos += [
            _bloco("hoje", "Hoje", "inteira", {"fluxos": montar_fluxos(chegadas, visao)}),
            _bloco("hora", "Última hora", "metade", {"graficos": graficos["hora"]}, template="graficos"),
            _bloco("mes", "Últimos 30 dias", "metade", {"graficos": graficos["mes"]}, template="graficos"),
        ]
    if filas:
        servico = montar_filas(filas, visao, agora)
        blocos.append(_bloco("filas", "Filas e workers", "metade", servico, lugar="servico"))
    if visao.pode("ingestao.view_uso"):
        cotas = montar_cotas(buscar_cotas(timezone.localdate(agora)), visao)
        blocos.append(_bloco("cota", "Uso da franquia no mês", "metade", cotas, lugar="servico"))
    if visao.pode("ingestao.view_erro"):
        blocos.append(_bloco("erros", "Erros", "metade", montar_erros(buscar_erros(agora), visao, agora)))
    if visao.pode("dlr.view_excecao"):
        excecoes = montar_excecoes(buscar_excecoes(agora), visao, agora)
        blocos.append(_bloco("excecoes", "Exceções abertas dos recibos", "metade", excecoes))
    if visao.pode("dlr.view_mensagem"):
        mensagens = montar_mensagens(buscar_mensagens(agora), visao)
        blocos.append(_bloco("mensagens", "Mensagens das últimas 24 horas", "metade", mensagens))
    if capturas:
        de_campo = montar_capturas(capturas, visao, agora) | {"ha_aparelho": instalacao.ha_dispositivo}
        blocos.append(_bloco("capturas", "Capturas nas últimas 24 horas", "inteira", de_campo))
    return blocos


def _passos(instalacao: Instalacao, visao: Visao) -> dict[str, Any]:
    """O cartão da instalação: aberto enquanto nada chegou, uma linha depois, e nada quando acabou."""
    passos = montar_passos(instalacao, visao)
    faltam = sum(not passo.feito for passo in passos)
    return {"passos": passos if faltam else [], "faltam": faltam, "comecou": instalacao.ha_evento}


def _bloco(
    nome: str, titulo: str, largura: str, contexto: dict[str, Any], *, template: str = "", lugar: str = ""
) -> Bloco:
    html = render_to_string(f"painel/inicio/{template or nome}.html", contexto | {"titulo": titulo}).strip()
    return Bloco(nome=nome, titulo=titulo, largura=largura, lugar=lugar or nome, html=html)
