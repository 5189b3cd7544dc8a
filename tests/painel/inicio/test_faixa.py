"""Algo perdido, atrasado ou recusado? A regra, sem banco."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ingestao.capturas.medidas import resumir_contagens
from ingestao.models import Lote
from painel.inicio.capturas import Capturas
from painel.inicio.chegadas import SITES, Chegadas
from painel.inicio.faixa import Nivel, enumerar, responder, resumir_respostas
from painel.inicio.filas import Fila, Filas

AGORA = datetime(2026, 7, 3, 12, tzinfo=UTC)


def filas(*, idade_s: float = 0, estacionados: int = 0, workers: int | None = 1) -> Filas:
    desde = AGORA - timedelta(seconds=idade_s) if idade_s else None
    fila = Fila(
        nome="Lotes de eventos", modelo=Lote, pendentes=1, mais_antigo_em=desde, estacionados=estacionados
    )
    return Filas(filas=[fila], workers=workers)


def capturas(*, descartes: int = 0, silenciosos: int = 0) -> Capturas:
    contagens = {("descartados:teto", 0): descartes} if descartes else {}
    return Capturas(
        horas=[],
        por_hora=[],
        resumo=resumir_contagens(contagens),
        silenciosos=[],
        qtd_silenciosos=silenciosos,
    )


def chegadas(entrou: int = 0, **recusas: int) -> Chegadas:
    por_minuto = {
        (SITES, ""): [entrou],
        **{(SITES, motivo): [quantas] for motivo, quantas in recusas.items()},
    }
    return Chegadas(fluxos=(SITES,), minutos=[AGORA], dias=[], por_minuto=por_minuto, por_dia={})


def perguntar(**numeros: Any) -> dict[str, tuple[Nivel, list[str]]]:
    vistos = {"chegadas": chegadas(), "filas": filas(), "capturas": capturas(), **numeros}
    respostas = responder(**vistos, agora=AGORA)
    return {r.pergunta: (r.nivel, [achado.frase for achado in r.achados]) for r in respostas}


def test_tudo_em_dia() -> None:
    respostas = responder(chegadas=chegadas(100), filas=filas(idade_s=3), capturas=capturas(), agora=AGORA)
    assert resumir_respostas(respostas) == (Nivel.BEM, "Nada perdido, nada atrasado e nada recusado.")


def test_descarte_de_um_aparelho_e_perda() -> None:
    assert perguntar(capturas=capturas(descartes=1))["Perdido"] == (
        Nivel.GRAVE,
        ["1 captura descartada pelos aparelhos em 24 h"],
    )


@pytest.mark.parametrize(
    ("idade_s", "nivel"), [(59, Nivel.BEM), (61, Nivel.ATENCAO), (299, Nivel.ATENCAO), (301, Nivel.GRAVE)]
)
def test_fila_parada_e_atraso(idade_s: float, nivel: Nivel) -> None:
    assert perguntar(filas=filas(idade_s=idade_s))["Atrasado"][0] == nivel


def test_sem_worker_e_grave_e_sem_saber_e_atencao() -> None:
    assert perguntar(filas=filas(workers=0))["Atrasado"] == (
        Nivel.GRAVE,
        ["nenhum worker vivo: nada se aplica"],
    )
    assert perguntar(filas=filas(workers=None))["Atrasado"][0] == Nivel.ATENCAO


def test_estacionado_e_silencioso_pedem_atencao() -> None:
    nivel, frases = perguntar(filas=filas(estacionados=1_234), capturas=capturas(silenciosos=1))["Atrasado"]
    assert nivel == Nivel.ATENCAO
    assert frases == ["1.234 itens estacionados esperam alguém", "1 aparelho silencioso"]


def test_recusa_e_grave_a_partir_de_um_decimo() -> None:
    assert perguntar(chegadas=chegadas(91, tipo_invalido=9))["Recusado"][0] == Nivel.ATENCAO
    assert perguntar(chegadas=chegadas(90, tipo_invalido=9, chave_desconhecida=1))["Recusado"] == (
        Nivel.GRAVE,
        ["10 recusas na última hora, a maior parte por tipo de evento inválido"],
    )


def test_o_que_a_pessoa_nao_ve_nao_se_responde() -> None:
    respostas = responder(chegadas=None, filas=filas(), capturas=None, agora=AGORA)
    assert [r.pergunta for r in respostas] == ["Atrasado"]
    assert resumir_respostas([]) == (Nivel.BEM, "Nada a acompanhar com o seu acesso.")


def test_enumerar() -> None:
    assert [enumerar(lista) for lista in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a e b", "a, b e c"]
