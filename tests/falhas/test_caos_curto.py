"""A injeção de falhas de `make caos`, em versão curta: cada tipo de falha ao menos uma vez, nos três fluxos."""

import random

import pytest

from tests.caos.conferencia import conferir
from tests.caos.envio import Resposta
from tests.caos.execucao import rodar
from tests.caos.falhas import FALHAS, montar_roteiro
from tests.caos.lotes import CABECALHOS, EventoMandado, Lote, Site
from tests.caos.oraculo import Oraculo
from tests.caos.servidor import ServidorLocal
from tests.falhas.carga import esperar_esvaziar, mandar, montar

DURACAO_S = 20
LOTES_POR_SEGUNDO = 80
# As falhas que não são do servidor: as do relé e as das câmeras.
DE_FORA = {
    *("cortar_conexoes", "cortar_no_meio", "calar_a_rede"),
    *("matar_camera", "encher_disco_da_camera", "entortar_relogio_da_camera", "tirar_rede_da_camera"),
}
AO_MENOS = {"eventos": 1_000, "recibos": 100, "capturas": 300}  # senão a rodada não terá dito nada


def test_nada_prometido_se_perde_nem_se_repete_com_tudo_caindo() -> None:
    semente = random.randrange(10**6)  # outra a cada vez; a mensagem de falha diz qual
    dito: list[str] = []

    rodada = rodar(
        semente=semente,
        duracao_s=DURACAO_S,
        por_segundo=LOTES_POR_SEGUNDO,
        falhas=FALHAS,
        dizer=dito.append,
    )

    conte = "\n".join([f"semente {semente}", *rodada.violacoes, "", *dito])
    assert rodada.violacoes == [], conte
    assert set(rodada.falhas) == set(FALHAS) | DE_FORA, conte
    assert {f.nome for f in rodada.fluxos if f.qtd_prometidos > AO_MENOS[f.nome]} == set(AO_MENOS), conte


def test_a_mesma_semente_da_o_mesmo_roteiro() -> None:
    nomes = list(FALHAS)

    assert montar_roteiro(7, 60, nomes) == montar_roteiro(7, 60, nomes)
    assert montar_roteiro(7, 60, nomes) != montar_roteiro(8, 60, nomes)
    assert {marcada.nome for marcada in montar_roteiro(7, DURACAO_S, nomes)} == set(nomes)


@pytest.mark.parametrize(
    ("estrago", "acusacao"),
    [
        (
            "DELETE FROM ingestao_evento WHERE evento_id = 'a' AND aplicativo_id = %s",
            "confirmados não existem",
        ),
        (
            "UPDATE ingestao_sessao SET quantidade_eventos = 3 WHERE aplicativo_id = %s",
            "sessao.quantidade_eventos difere",
        ),
        (
            "UPDATE ingestao_sessao SET quantidade_erros = 9 WHERE aplicativo_id = %s",
            "sessao.quantidade_erros difere",
        ),
        ("UPDATE ingestao_uso SET quantidade_eventos = 1 WHERE aplicativo_id = %s", "soma de uso"),
        ("UPDATE ingestao_erro SET quantidade = 5 WHERE aplicativo_id = %s", "erro.quantidade difere"),
        ("UPDATE ingestao_evento SET evento_id = 'z' WHERE aplicativo_id = %s", "ninguém mandou"),
        ("UPDATE ingestao_sessao SET sessao_externa = 'x' WHERE aplicativo_id = %s", "sessões que ninguém"),
    ],
)
def test_o_oraculo_percebe_o_que_foi_estragado(
    servidor: ServidorLocal, site: Site, estrago: str, acusacao: str
) -> None:
    lote = Lote(
        site=site,
        sessao="s",
        eventos=tuple(EventoMandado(evento_id=i, tipo="ERRO_JS", e_erro=True) for i in "ab"),
        corpo=montar(site, "ab", tipo="ERRO_JS"),
        cabecalhos=CABECALHOS,
    )
    oraculo = Oraculo()
    oraculo.anotar_envio(lote)
    oraculo.anotar_resposta(lote, mandar(servidor, lote.corpo), 0)
    esperar_esvaziar(servidor)

    with servidor.conectar() as conexao:
        conferir(conexao, oraculo, [site])
        antes = list(oraculo.violacoes)
        conexao.execute(estrago, (site.id,))
        conferir(conexao, oraculo, [site])

    assert antes == []
    assert acusacao in "\n".join(oraculo.violacoes)


@pytest.mark.parametrize(
    "resposta",
    [
        Resposta(status=500, cabecalhos={}, corpo=b"<h1>Server Error</h1>"),
        Resposta(status=503, cabecalhos={}, corpo=b'{"codigo": "armazenamento_indisponivel"}'),
        Resposta(status=202, cabecalhos={}, corpo=b'{"aceitos": 1, "recusados": 0, "recusas": []}'),
        Resposta(status=403, cabecalhos={}, corpo=b'{"codigo": "origem_nao_autorizada"}'),
    ],
)
def test_o_oraculo_percebe_resposta_que_nao_devia_vir(resposta: Resposta) -> None:
    site = Site(id="1", chave="pk", franquia=None)
    eventos = tuple(EventoMandado(evento_id=i, tipo="CLIQUE", e_erro=False) for i in "ab")
    lote = Lote(site=site, sessao="s", eventos=eventos, corpo=b"", cabecalhos={})
    oraculo = Oraculo()

    oraculo.anotar_resposta(lote, resposta, 0)

    assert oraculo.qtd_violacoes == 1
