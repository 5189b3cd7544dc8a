"""As exceções: uma causa de cada tipo, e o que uma pessoa fez com algumas delas."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.utils import timezone

from dlr import amarracao, ausencias, excecoes
from dlr.dominio.estados import Estado
from dlr.models import Excecao, Integracao, Mensagem, SituacaoDaExcecao, TipoDeExcecao
from dlr.models.integracao import JANELA_DE_ESPERA_S
from painel.admin.dlr import finais
from painel.demonstracao import tempo
from painel.demonstracao.cadastro import Caderno
from painel.demonstracao.linha import Linha
from painel.demonstracao.semente import Semente

JANELA_CURTA_S = 2
TUPI, INFOBIP, ZENVIA, CODIGOS = "operadora-tupi", "infobip-cobranca", "zenvia-avisos", "codigos"


def abrir_excecoes(linhas: Mapping[str, Linha], semente: Semente, agora: datetime) -> None:
    """Chamadas que não se decidem sozinhas. As mensagens que elas precisam são registradas aqui."""
    _nao_se_ler(linhas, agora)
    _nao_achar_a_mensagem(linhas[CODIGOS], semente, agora)
    _achar_mais_de_uma(linhas[CODIGOS], semente, agora)
    _divergir_nas_partes(linhas[CODIGOS], semente, agora)
    _reutilizar_o_id(linhas[CODIGOS], semente, agora)


def _nao_se_ler(linhas: Mapping[str, Linha], agora: datetime) -> None:
    """Formato não reconhecido, recibo parcial e estado não mapeado."""
    linhas[INFOBIP].chamar(b'{"results": [{"messageId": "cortado', agora - timedelta(hours=5))
    linhas[ZENVIA].chamar(
        b"<html><body>502 Bad Gateway</body></html>", agora - timedelta(hours=9), tipo="text/html"
    )
    linhas[TUPI].chamar(
        orjson.dumps({"short_message": "Oi, recebi sim!", "source_addr": "+5511900000000"}), agora
    )
    linhas[CODIGOS].chamar(orjson.dumps({"estado": "DELIVERED"}), agora - timedelta(hours=2))
    linhas[CODIGOS].chamar(orjson.dumps({"id_externo": "sem-estado"}), agora - timedelta(hours=1))
    clicada = {"type": "MESSAGE_STATUS", "messageId": "campanha-9", "messageStatus": {"code": "CLICKED"}}
    linhas[ZENVIA].chamar(orjson.dumps(clicada), agora - timedelta(minutes=50))
    linhas[TUPI].chamar(
        orjson.dumps({"short_message": "id:77aa stat:BUFFERED err:000", "esm_class": 4}), agora
    )


def _mensagem(id_interno: str, *ids: Any, quando: datetime) -> dict[str, Any]:
    return {
        "id_interno": id_interno,
        "ids_externos": [i if isinstance(i, dict) else {"valor": i} for i in ids],
        "origem": "AURORA",
        "destino": "+5511900000777",
        "registered_delivery": 1,
        "apresentada_em": quando.isoformat(timespec="seconds"),
        "aceita": True,
    }


def _recibo(id_externo: str, estado: str = "DELIVERED", **campos: Any) -> bytes:
    return orjson.dumps({"id_externo": id_externo, "estado": estado, **campos})


def _nao_achar_a_mensagem(linha: Linha, semente: Semente, agora: datetime) -> None:
    """Recibos de mensagens que ninguém registrou; três são quase de uma, e aparecem como dica."""
    nome = semente.slug("dica")
    linha.registrar([_mensagem(f"{nome}-caixa", "AB12CD34", quando=agora - timedelta(hours=6))])
    linha.registrar([_mensagem(f"{nome}-zeros", "0042424242", quando=agora - timedelta(hours=7))])
    linha.registrar([_mensagem(f"{nome}-mais-zeros", "0055550001", quando=agora - timedelta(hours=5))])
    perdidos = [f"perdido-{numero:02d}" for numero in range(1, 10)]
    for numero, id_externo in enumerate(["ab12cd34", "42424242", "55550001", *perdidos]):
        linha.chamar(_recibo(id_externo), agora - timedelta(minutes=11 * numero + 3))


def _achar_mais_de_uma(linha: Linha, semente: Semente, agora: datetime) -> None:
    for numero in (1, 2):
        id_interno = semente.slug(f"dobrada-{numero}")
        linha.registrar([_mensagem(id_interno, "id-em-dobro", quando=agora - timedelta(hours=3))])
    linha.chamar(_recibo("id-em-dobro"), agora - timedelta(hours=3))


def _divergir_nas_partes(linha: Linha, semente: Semente, agora: datetime) -> None:
    partes = [{"valor": f"longa-{parte}", "parte": parte} for parte in (1, 2)]
    quando = agora - timedelta(hours=4)
    linha.registrar([_mensagem(semente.slug("longa"), *partes, quando=quando)])
    linha.chamar(_recibo("longa-1"), quando)
    linha.chamar(_recibo("longa-2", "EXPIRED"), quando)


def _reutilizar_o_id(linha: Linha, semente: Semente, agora: datetime) -> None:
    ids = [semente.slug(f"reuso-{numero}") for numero in (1, 2)]
    linha.registrar([_mensagem(id_, id_, quando=agora - timedelta(hours=1)) for id_ in ids])
    for id_ in ids:
        linha.chamar(_recibo(id_, evento_id="evento-1"), agora - timedelta(hours=1))


def cuidar_das_excecoes(linhas: Mapping[str, Linha], caderno: Caderno, esperar: Callable[[], None]) -> None:
    """Deixa a janela passar, cobra os finais, e decide algumas: com motivo, na trilha, como uma pessoa faria."""
    time.sleep(JANELA_CURTA_S + 0.2)
    while amarracao.envelhecer(timezone.now()):
        pass
    while ausencias.cobrar(timezone.now()):
        pass
    ids = [linha.integracao.pk for linha in linhas.values()]
    tempo.recuar_cobrancas(ids)
    _resolver_sozinha(linhas[CODIGOS], caderno.semente)

    def abertas(tipo: TipoDeExcecao) -> list[Excecao]:
        return list(
            Excecao.objects.filter(integracao__in=ids, tipo=tipo, situacao=SituacaoDaExcecao.ABERTA).order_by(
                "pk"
            )
        )

    def ato(motivo: str) -> excecoes.Ato:
        return excecoes.Ato(autor=caderno.autor, motivo=motivo, agora=timezone.now())

    conflitos, soltas = abertas(TipoDeExcecao.CONFLITO_FINAL), abertas(TipoDeExcecao.SEM_CORRELACAO)
    excecoes.escolher_final(
        conflitos[0].pk, "DELIVERED", ato("A transportadora confirmou a entrega por e-mail.")
    )
    excecoes.anotar([conflitos[1].pk], ato("Chamado aberto com a transportadora; aguardando."))
    ilegiveis = abertas(TipoDeExcecao.FORMATO_NAO_RECONHECIDO)
    excecoes.descartar([ilegiveis[-1].pk], ato("Resposta de um usuário ao SMS, não é recibo."))
    excecoes.atribuir([e.pk for e in soltas[-2:]], caderno.autor, ato("Procurar no registro de envios."))
    dica = next((e for e in soltas if e.dicas), None)
    if dica is not None:
        motivo = "O id é o mesmo, só muda a caixa das letras."
        excecoes.ligar(dica.pk, dica.dicas[0]["mensagem"], ato(motivo))
    esperar()
    _deixar_por_fazer(linhas, caderno)


def _deixar_por_fazer(linhas: Mapping[str, Linha], caderno: Caderno) -> None:
    """Mudanças que só valem para o que chegar: o que já chegou espera que alguém reprocesse ou reprojete."""
    Integracao.objects.filter(pk=linhas[CODIGOS].integracao.pk).update(
        janela_espera_s=JANELA_DE_ESPERA_S, id_zeros="ignorar"
    )
    integracao = linhas[INFOBIP].integracao
    sem_rejeitadas = sorted({*finais.finais_em_vigor(integracao)} - {Estado.REJECTED.value})
    motivo = "Nesta conta, a rejeitada é tentada de novo: não é o fim."
    with suppress(finais.NadaMudou):
        finais.mudar_finais(
            integracao.pk, sem_rejeitadas, autor=caderno.autor, motivo=motivo, agora=timezone.now()
        )


def _resolver_sozinha(linha: Linha, semente: Semente) -> None:
    """A mensagem de um dos recibos soltos aparece: a exceção se fecha e diz por quê."""
    id_interno = semente.slug("apareceu")
    if not Mensagem.objects.filter(integracao=linha.integracao, id_interno=id_interno).exists():
        linha.registrar([_mensagem(id_interno, "perdido-01", quando=timezone.now() - timedelta(minutes=40))])
