"""O OpenAPI diz a verdade: schemathesis gera visitas a partir dele e confere cada resposta."""

import json
from io import StringIO
from typing import Any

import pytest
import schemathesis
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from ingestao.models import Aplicativo

CHAVE = "pk_live_esquema"
ORIGEM = "https://exemplo.com.br"
ROTAS = {
    "/evento/ingestao",
    "/captura/ingestao",
    "/captura/pulso",
    "/captura/pedidos",
    "/captura/quadros/{pedido_id}",
    "/captura/quadros/{pedido_id}/indisponivel",
    "/dlr/callback/{slug}",
    "/dlr/callback/{slug}/{token}",
    "/dlr/mensagens",
    "/dlr/mensagens/{id_da_mensagem}",
    "/dlr/mensagens/{id_da_mensagem}/verificacoes",
    "/dlr/relatorio",
}
EXEMPLOS = 80
EXEMPLOS_SEM_PROVA = (
    20  # sem token nem chave, quase toda visita para no 401: quem vai fundo são os testes seguintes
)
EXEMPLOS_DOS_APARELHOS = 30  # são cinco rotas, cada uma com os dois modos

schemathesis.serializer.alias("application/offset+octet-stream", "application/octet-stream")

# transaction=True: a visita passa pelo ciclo inteiro da requisição, conexão inclusive, como na porta.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def esquema(transactional_db: None) -> Any:
    Aplicativo.objects.create(nome="Esquema", dominios=["exemplo.com.br"], chave=CHAVE)
    return schemathesis.openapi.from_wsgi("/api/esquema?format=json", get_wsgi_application())


def conferir(
    operacao: Any,
    modo: GenerationMode,
    preparar: Any = lambda visita: None,
    dispensar: tuple[Any, ...] = (),
    exemplos: int = EXEMPLOS,
) -> None:
    @settings(max_examples=exemplos, deadline=None, suppress_health_check=list(HealthCheck))
    @given(visita=operacao.as_strategy(generation_mode=modo))
    def cada_visita(visita: Any) -> None:
        preparar(visita)
        # Um lote com eventos ruins é aceito em parte (202 com recusas): violar o esquema não obriga um 4xx.
        visita.call_and_validate(excluded_checks=[negative_data_rejection, *dispensar])

    cada_visita()


@pytest.mark.parametrize("modo", list(GenerationMode), ids=lambda modo: modo.value)
def test_nenhuma_rota_responde_5xx_nem_o_que_o_esquema_nao_diz(esquema: Any, modo: GenerationMode) -> None:
    operacoes = [resultado.ok() for resultado in esquema.get_all_operations()]
    assert {operacao.path for operacao in operacoes} == ROTAS
    for operacao in operacoes:
        if modo == GenerationMode.NEGATIVE and operacao.path.startswith("/dlr/callback/"):
            continue  # o corpo do callback é o que a transportadora quiser: não há como violar
        conferir(operacao, modo, exemplos=EXEMPLOS_SEM_PROVA)


@pytest.mark.parametrize("modo", list(GenerationMode), ids=lambda modo: modo.value)
def test_com_o_token_da_integracao_as_rotas_de_quem_envia_nunca_quebram(
    esquema: Any, modo: GenerationMode
) -> None:
    saida = StringIO()
    call_command("criar_integracao", "--slug", "esquema", "--formato", "padrao", stdout=saida)
    token = json.loads(saida.getvalue())["token"]

    def autorizar(visita: Any) -> None:
        visita.headers["Authorization"] = f"Bearer {token}"

    for resultado in esquema.get_all_operations():
        if resultado.ok().path.startswith(("/dlr/mensagens", "/dlr/relatorio")):
            # O esquema não diz tudo (datas com fuso, `de` antes de `ate`): um 400 com código é resposta.
            conferir(resultado.ok(), modo, autorizar, (positive_data_acceptance,))


@pytest.mark.parametrize("modo", list(GenerationMode), ids=lambda modo: modo.value)
def test_com_o_token_do_dispositivo_as_rotas_dos_aparelhos_nunca_quebram(
    esquema: Any, modo: GenerationMode
) -> None:
    saida = StringIO()
    call_command("criar_dispositivo", "--nome", "Esquema", stdout=saida)
    token = json.loads(saida.getvalue())["token"]

    def autorizar(visita: Any) -> None:
        visita.headers["Authorization"] = f"Bearer {token}"
        if visita.query and "espera_s" in visita.query:
            visita.query["espera_s"] = 0  # a espera tem os seus testes; aqui só atrasaria

    for resultado in esquema.get_all_operations():
        operacao = resultado.ok()
        if operacao.path.startswith("/captura/"):
            # Não há pedido aberto (404), e datas e o multipart têm regras que o esquema não diz.
            conferir(operacao, modo, autorizar, (positive_data_acceptance,), EXEMPLOS_DOS_APARELHOS)


@pytest.mark.parametrize("modo", list(GenerationMode), ids=lambda modo: modo.value)
def test_com_chave_e_origem_boas_os_lotes_gerados_nunca_quebram(esquema: Any, modo: GenerationMode) -> None:
    def autorizar(visita: Any) -> None:
        visita.headers["Origin"] = ORIGEM
        if isinstance(visita.body, dict):
            visita.body["chave"] = CHAVE

    conferir(esquema["/evento/ingestao"]["POST"], modo, autorizar)
