"""As transportadoras falam: as mensagens registradas, os recibos delas, e as provas feitas por fora."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlr.models import RecepcaoPendente
from painel.demonstracao import tempo
from painel.demonstracao.cadastro import Caderno, garantir_integracao
from painel.demonstracao.chamada import Cliente, fazer_ao_mesmo_tempo
from painel.demonstracao.linha import ROTA_DAS_MENSAGENS, Linha
from painel.demonstracao.mensagens import Enredo, Mensagem, escrever_a_semana, escrever_esquecidas
from painel.demonstracao.reconciliacao import abrir_excecoes, cuidar_das_excecoes
from painel.demonstracao.semente import DIAS, Tamanho
from painel.demonstracao.transportadoras import TRANSPORTADORAS, Transportadora

CODIGOS = "codigos"
VERIFICADAS_EM_CADA = 3


def mandar_recibos(
    cliente: Cliente, caderno: Caderno, agora: datetime, tamanho: Tamanho, avancar: Callable[[str, int], Any]
) -> None:
    """A etapa dos recibos, inteira."""
    comecou_em = timezone.now()
    linhas = [_ligar(cliente, caderno, transportadora) for transportadora in TRANSPORTADORAS]
    semanas = [escrever_a_semana(linha.transportadora, caderno.semente, tamanho, agora) for linha in linhas]
    avancou = avancar("mensagens e recibos", sum(map(len, semanas)))
    for linha, mensagens in zip(linhas, semanas, strict=True):
        _contar_a_semana(linha, mensagens, avancou)
    linhas[0].registrar(
        [m.descrever() for m in escrever_esquecidas(TRANSPORTADORAS[0], caderno.semente, agora)]
    )
    por_apelido = {linha.transportadora.apelido: linha for linha in linhas}
    abrir_excecoes(por_apelido, caderno.semente, agora)
    _esperar(linhas)
    recusas = _recusar_chamadas(linhas[0], caderno, agora)
    _espalhar(linhas, recusas, comecou_em)
    cuidar_das_excecoes(por_apelido, caderno, lambda: _esperar(linhas))


def _ligar(cliente: Cliente, caderno: Caderno, transportadora: Transportadora) -> Linha:
    integracao, token = garantir_integracao(
        caderno,
        transportadora.apelido,
        transportadora.nome,
        transportadora.formato,
        *transportadora.opcoes,
    )
    return Linha(cliente=cliente, transportadora=transportadora, integracao=integracao, token=token)


def _contar_a_semana(linha: Linha, mensagens: list[Mensagem], avancou: Callable[[], None]) -> None:
    """Registra quase todas, conta o que houve, registra as que o recibo não esperou, e prova algumas por fora."""
    antes = [m for m in mensagens if not m.registrada_depois]
    numeros = dict(
        zip([m.id_interno for m in antes], linha.registrar([m.descrever() for m in antes]), strict=True)
    )
    fazer_ao_mesmo_tempo(mensagens, linha.contar, avancou)
    if depois := [m for m in mensagens if m.registrada_depois]:
        linha.registrar([m.descrever() for m in depois])
    if linha.transportadora.apelido == CODIGOS:
        entregues = [m for m in antes if m.enredo in (Enredo.ENTREGUE, Enredo.ENTREGUE_DE_UMA_VEZ)]
        for mensagem in entregues[::VERIFICADAS_EM_CADA]:
            _verificar(linha, numeros[mensagem.id_interno], mensagem)


def _verificar(linha: Linha, numero: int, mensagem: Mensagem) -> None:
    """O código foi digitado: alguém leu a mensagem, diga o recibo o que disser."""
    prova = {
        "origem": "otp",
        "ocorrida_em": (mensagem.apresentada_em + timedelta(seconds=25)).isoformat(),
        "detalhe": "código digitado na tela de acesso",
    }
    linha.cliente.mandar_json(f"{ROTA_DAS_MENSAGENS}/{numero}/verificacoes", prova, linha.quem_envia())


def _recusar_chamadas(
    linha: Linha, caderno: Caderno, agora: datetime
) -> list[tuple[int | None, str, datetime]]:
    """Chamadas que não se provam, e um endereço que não existe."""
    acaso = caderno.semente.sorteio("recusas dos recibos")
    slug = linha.integracao.slug
    alvos: tuple[tuple[int | None, str, int], ...] = (
        (linha.integracao.pk, f"/dlr/callback/{slug}/dlr_token-antigo", 11),
        (None, f"/dlr/callback/{caderno.semente.slug('operadora-encerrada')}/dlr_nada", 6),
    )
    recusas = []
    for integracao_id, rota, vezes in alvos:
        for _ in range(vezes):
            resposta = linha.cliente.mandar_json(rota, {})
            quando = agora - timedelta(days=acaso.uniform(0, DIAS - 0.5))
            recusas.append((integracao_id, resposta.json()["codigo"], quando))
    return recusas


def _esperar(linhas: Sequence[Linha]) -> None:
    ids = [linha.integracao.pk for linha in linhas]
    pendentes = RecepcaoPendente.objects.filter(recepcao__integracao__in=ids)
    tempo.esperar_vazia(RecepcaoPendente, pendentes)


def _espalhar(
    linhas: Sequence[Linha], recusas: list[tuple[int | None, str, datetime]], comecou_em: datetime
) -> None:
    recepcoes = [(linha.integracao.pk, quando) for linha in linhas for quando in linha.recepcoes]
    tempo.espalhar_recibos([linha.integracao.pk for linha in linhas], recepcoes, recusas, comecou_em)
