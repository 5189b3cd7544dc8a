"""A demonstração: enche cada tela, fecha as contas, não se repete, e não entra onde não deve."""

import re
import stat
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import httpx
import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from config import ambiente
from ingestao.models import Aplicativo, Recusa, Uso
from painel.demonstracao.aparelhos import APARELHOS, Jeito, ver_a_semana
from painel.demonstracao.cenas import ALTURA, LARGURA
from painel.demonstracao.lugares import SITES
from painel.demonstracao.semente import Semente, Tamanho
from painel.demonstracao.tempo import RecusaDeSite, espalhar_recusas_de_sites
from painel.demonstracao.visitas import contar_visitas
from tests.caos.servidor import ServidorLocal, porta_livre
from tests.demonstracao import demonstrar, senha_de

# O que só se enche com defeito (caixas), com um ato de gente (revelações) ou com senha errada (travados).
VAZIAS = {"lote", "recepcaopendente", "revelacao", "accessattempt"}
CONTAS = {
    "eventos e uso": (
        "SELECT count(*) FROM ingestao_evento",
        "SELECT sum(quantidade_eventos) FROM ingestao_uso",
    ),
    "recusados e recusas": (
        "SELECT sum(quantidade_recusados) FROM ingestao_uso",
        "SELECT sum(quantidade_eventos) FROM ingestao_recusa WHERE aplicativo_id IS NOT NULL",
    ),
    "capturas e medidas": (
        "SELECT count(*) FROM ingestao_captura",
        "SELECT sum(quantidade) FROM ingestao_medidadecaptura WHERE medida = 'gravadas'",
    ),
    "capturas e medidas, hora a hora": (
        """SELECT count(*) FROM (
                SELECT DISTINCT dispositivo_id, date_trunc('hour', gravado_em) AS hora FROM ingestao_captura
            ) AS c JOIN ingestao_medidadecaptura m USING (dispositivo_id, hora) WHERE medida = 'gravadas'""",
        "SELECT count(*) FROM ingestao_medidadecaptura WHERE medida = 'gravadas'",
    ),
    "recepções e as do dia": (
        "SELECT count(*) FROM dlr_recepcao",
        "SELECT sum(quantidade) FROM dlr_recepcaopordia",
    ),
    "nada do futuro": (
        "SELECT 0",
        """SELECT (SELECT count(*) FROM ingestao_evento WHERE criado_em > now() OR criado_em < ocorrido_em)
            + (SELECT count(*) FROM ingestao_captura WHERE gravado_em > now())
            + (SELECT count(*) FROM ingestao_medidadecaptura WHERE hora > now())
            + (SELECT count(*) FROM dlr_mensagem WHERE criada_em > now())""",
    ),
}
# Só cresceria se a segunda rodada mandasse alguma coisa de novo.
O_QUE_NAO_CRESCE = """
    SELECT (SELECT count(*) FROM ingestao_evento), (SELECT count(*) FROM ingestao_sessao),
        (SELECT sum(quantidade_requisicoes + quantidade_eventos) FROM ingestao_recusa),
        (SELECT sum(quantidade) FROM ingestao_medidadecaptura), (SELECT count(*) FROM ingestao_captura),
        (SELECT sum(quantidade) FROM ingestao_recusadecaptura), (SELECT count(*) FROM ingestao_pedido),
        (SELECT count(*) FROM ingestao_relatodedescarte), (SELECT count(*) FROM ingestao_dispositivo),
        (SELECT count(*) FROM dlr_mensagem), (SELECT count(*) FROM dlr_recepcao),
        (SELECT count(*) FROM dlr_eventologico), (SELECT sum(quantidade) FROM dlr_recusadecallback),
        (SELECT string_agg(token_resumo, ',' ORDER BY id) FROM dlr_integracao), (SELECT count(*) FROM auth_user)
"""


@pytest.fixture(scope="module")
def navegador(demonstrado: ServidorLocal) -> httpx.Client:
    """O admin dentro do painel do servidor demonstrado."""
    cliente = httpx.Client(base_url=f"http://127.0.0.1:{demonstrado.porta}", timeout=60)
    pagina = cliente.get("/admin/login/").text
    achado = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', pagina)
    assert achado
    campos = {
        "username": "admin",
        "password": senha_de(demonstrado, "admin"),
        "csrfmiddlewaretoken": achado[1],
    }
    assert cliente.post("/admin/login/", data=campos).status_code == 302
    return cliente


@pytest.mark.parametrize(
    "modelo", sorted(admin.site._registry, key=lambda m: m._meta.label), ids=lambda m: m._meta.label
)
def test_cada_tela_tem_o_que_mostrar(navegador: httpx.Client, modelo: type) -> None:
    opcoes = modelo._meta  # type: ignore[attr-defined]
    resposta = navegador.get(f"/admin/{opcoes.app_label}/{opcoes.model_name}/", follow_redirects=True)
    assert resposta.status_code == 200
    tem = 'id="result_list"' in resposta.text or "lastro-numeros" in resposta.text
    assert tem != (opcoes.model_name in VAZIAS)


@pytest.mark.parametrize("conta", CONTAS)
def test_contas_fecham_depois_de_espalhadas(demonstrado: ServidorLocal, conta: str) -> None:
    um, outro = CONTAS[conta]
    assert demonstrado.consultar(um) == demonstrado.consultar(outro)


def test_cada_fluxo_tem_uma_semana(demonstrado: ServidorLocal) -> None:
    for tabela, dia in (
        ("ingestao_uso", "dia"),
        ("ingestao_medidadecaptura", "hora::date"),
        ("dlr_recepcaopordia", "dia"),
        ("ingestao_recusa", "dia"),
    ):
        ((dias,),) = demonstrado.consultar(f"SELECT count(DISTINCT {dia}) FROM {tabela}")
        assert dias >= 5, tabela


def test_ha_de_tudo(demonstrado: ServidorLocal) -> None:
    def valores(sql: str) -> set[str]:
        return {valor for (valor,) in demonstrado.consultar(sql)}

    assert valores("SELECT DISTINCT situacao FROM ingestao_pedido") == {
        "aberto",
        "atendido",
        "indisponivel",
        "vencido",
        "hash_divergente",
        "cancelado",
    }
    assert valores("SELECT DISTINCT estado FROM ingestao_erro") == {"aberto", "resolvido", "ignorado"}
    assert len(valores("SELECT DISTINCT tipo FROM dlr_excecao")) == 10
    assert valores("SELECT DISTINCT motivo FROM ingestao_recusa") >= {
        "chave_desconhecida",
        "franquia_estourada",
        "limite_por_minuto",
        "origem_nao_autorizada",
        "tipo_invalido",
    }
    assert demonstrado.consultar("SELECT 1 FROM ingestao_erro WHERE regressoes > 0")
    assert demonstrado.consultar("SELECT 1 FROM ingestao_captura WHERE reenvios_link > 0")
    assert demonstrado.consultar("SELECT 1 FROM ingestao_captura WHERE reenvios_fila > 0")


def test_segunda_rodada_nao_muda_contagens(demonstrado: ServidorLocal) -> None:
    antes = demonstrado.consultar(O_QUE_NAO_CRESCE)
    assert "nada mudou" in demonstrar(demonstrado, "--usuarios")
    assert demonstrado.consultar(O_QUE_NAO_CRESCE) == antes


# ---- Onde não deve entrar


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", True)
    monkeypatch.setattr(ambiente, "DADOS", tmp_path)
    return tmp_path


def test_fora_do_modo_local_recusa(local: Path, monkeypatch: pytest.MonkeyPatch, db: None) -> None:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", False)
    with pytest.raises(CommandError, match="--mesmo-em-producao"):
        call_command("demonstracao", "--usuarios")
    assert not User.objects.exists()


def test_banco_com_dados_de_verdade_recusa(local: Path, db: None) -> None:
    Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"], chave="pk_live_loja")
    with pytest.raises(CommandError, match="1 aplicativos"):
        call_command("demonstracao", "--usuarios")
    assert not User.objects.exists()


def test_servidor_que_nao_responde_diz_o_que_fazer(local: Path, db: None) -> None:
    with pytest.raises(CommandError, match="não responde"):
        call_command("demonstracao", "--url", f"http://127.0.0.1:{porta_livre()}")
    assert not Aplicativo.objects.exists()


def test_usuarios_tem_o_papel_e_a_senha_so_aparece_uma_vez(local: Path, db: None) -> None:
    for vez in range(2):
        saida = StringIO()
        with pytest.raises(CommandError, match="não responde"):
            call_command(
                "demonstracao", "--usuarios", "--url", f"http://127.0.0.1:{porta_livre()}", stdout=saida
            )
        for nome, papel in (
            ("suporte", "Suporte"),
            ("operacao", "Operação"),
            ("administracao", "Administração"),
        ):
            usuario = User.objects.get(username=nome)
            arquivo = local / f"senha-{nome}.txt"
            senha = arquivo.read_text("utf-8").strip()
            assert list(usuario.groups.values_list("name", flat=True)) == [papel]
            assert (usuario.is_staff, usuario.is_superuser, usuario.check_password(senha)) == (
                True,
                False,
                True,
            )
            assert stat.S_IMODE(arquivo.stat().st_mode) == 0o600
            assert (senha in saida.getvalue()) == (vez == 0)


# ---- O que se sorteia e o que se leva de um dia a outro

AGORA = datetime(2026, 11, 30, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize("numero", [1, 7])
def test_a_mesma_semente_conta_a_mesma_historia(numero: int) -> None:
    for site in SITES:
        uma, outra = (contar_visitas(site, Semente(numero=numero), Tamanho.PEQUENO, AGORA) for _ in range(2))
        assert uma == outra
        instantes = [datetime.fromisoformat(e["ocorrido_em"]) for v in uma for e in v.eventos]
        assert AGORA - timedelta(days=7) <= min(instantes) <= max(instantes) <= AGORA


def test_outra_semente_e_outra_demonstracao() -> None:
    uma, outra = (
        {
            e["evento_id"]
            for v in contar_visitas(SITES[0], Semente(numero=n), Tamanho.PEQUENO, AGORA)
            for e in v.eventos
        }
        for n in (1, 2)
    )
    assert uma.isdisjoint(outra)


def test_no_comeco_do_mes_a_franquia_so_ve_o_mes() -> None:
    virada = AGORA.replace(month=12, day=1, hour=9)
    visitas = contar_visitas(SITES[2], Semente(), Tamanho.PEQUENO, virada)
    assert {datetime.fromisoformat(e["ocorrido_em"]).month for v in visitas for e in v.eventos} == {12}


def test_recorte_e_a_caixa_do_quadro_e_o_corte_parado_manda_tudo() -> None:
    semente = Semente()
    for aparelho in APARELHOS:
        visto = ver_a_semana(aparelho, semente, Tamanho.PEQUENO, AGORA)[-1]
        cena = visto.pintar(semente)
        assert cena == visto.pintar(semente)
        caixa = cena.caixa
        assert caixa.x + caixa.largura <= LARGURA
        assert caixa.y + caixa.altura <= ALTURA
        inteira = (caixa.largura, caixa.altura) == (LARGURA, ALTURA)
        assert inteira == (aparelho.jeito is Jeito.CORTE_PARADO)


def test_recusa_levada_a_outro_dia_nao_leva_as_alheias(db: None) -> None:
    aplicativo = Aplicativo.objects.create(nome="Loja", dominios=["loja.com.br"], chave="pk_live_loja")
    agora = datetime.now(UTC)
    hoje, ontem = timezone.localdate(agora), timezone.localdate(agora - timedelta(days=1))
    Recusa.objects.create(
        aplicativo=aplicativo,
        dia=hoje,
        motivo="tipo_invalido",
        quantidade_requisicoes=1,
        quantidade_eventos=10,
    )
    Uso.objects.create(aplicativo=aplicativo, dia=hoje, quantidade_eventos=5, quantidade_recusados=10)
    da_demonstracao = RecusaDeSite(
        aplicativo_id=aplicativo.pk,
        motivo="tipo_invalido",
        requisicoes=0,
        eventos=4,
        quando=agora - timedelta(days=1),
    )
    espalhar_recusas_de_sites([da_demonstracao], agora)
    contadas = Recusa.objects.order_by("dia").values_list(
        "dia", "quantidade_requisicoes", "quantidade_eventos"
    )
    assert list(contadas) == [(ontem, 0, 4), (hoje, 1, 6)]
    usos = Uso.objects.order_by("dia").values_list("dia", "quantidade_eventos", "quantidade_recusados")
    assert list(usos) == [(ontem, 0, 4), (hoje, 5, 6)]
