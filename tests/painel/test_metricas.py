"""`/metricas`: quem entra, o que mostra, que não custa, e que as regras e o painel prontos falam dela."""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings as ajustes
from django.db import OperationalError, connection
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from config import contagem, porta
from dlr.models import Excecao, Integracao, Mensagem, Projecao, RecusaDeCallback, Verificacao
from ingestao.capturas.medidas import achar_faixa, truncar_na_hora
from ingestao.models import Aplicativo, Dispositivo, Lote, MedidaDeCaptura, Recusa, Uso
from painel.metricas import consultas, familias, views
from painel.metricas.acesso import Acesso, decidir
from painel.models import Aviso, EntregaDeAviso
from tests.config.test_porta import visitar

DOCS = ajustes.BASE_DIR / "docs"
Contadas = Callable[[], dict[tuple[str, str, str], float]]
LOCAIS = ["127.0.0.0/8", "::1/128"]


@pytest.fixture(autouse=True)
def sem_cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    views.coleta.esquecer()
    monkeypatch.setattr(views, "VALIDADE_S", -1.0)
    yield
    views.coleta.esquecer()


@pytest.fixture
def contadas(client: Client, db: None) -> Callable[[], dict[tuple[str, str, str], float]]:
    """O que a porta contou desde o começo do teste: {(fluxo, status, codigo): quantas}."""

    def somar() -> dict[tuple[str, str, str], float]:
        pagina = ler(client)
        return {
            (rotulos["fluxo"], rotulos["status"], rotulos["codigo"]): valor
            for (nome, pares), valor in pagina.items()
            if nome == "lastro_respostas_total" and (rotulos := dict(pares))
        }

    antes = somar()
    return lambda: {
        chave: valor - antes.get(chave, 0) for chave, valor in somar().items() if valor != antes.get(chave, 0)
    }


def ler(client: Client, **cabecalhos: str) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """{(nome, rótulos): número} da página."""
    resposta = client.get("/metricas", headers=cabecalhos)
    assert resposta.status_code == 200, resposta.content
    return {
        (amostra.name, tuple(sorted(amostra.labels.items()))): amostra.value
        for familia in text_string_to_metric_families(resposta.text)
        for amostra in familia.samples
    }


def um(pagina: dict[Any, float], nome: str, /, **rotulos: str) -> float | None:
    return pagina.get((f"lastro_{nome}", tuple(sorted(rotulos.items()))))


# ---- Acesso


@pytest.mark.parametrize(
    ("token", "autorizacao", "ip", "repassado", "acesso"),
    [
        ("", "", "127.0.0.1", False, Acesso.LIVRE),
        ("", "", "::1", False, Acesso.LIVRE),
        ("", "", "::ffff:127.0.0.1", False, Acesso.LIVRE),
        ("", "", "10.0.0.7", False, Acesso.DE_FORA),
        ("", "", "", False, Acesso.DE_FORA),
        ("", "", "lixo", False, Acesso.DE_FORA),
        ("", "Bearer ", "10.0.0.7", False, Acesso.DE_FORA),  # token vazio não é senha de ninguém
        ("", "", "127.0.0.1", True, Acesso.DE_FORA),  # o proxy da própria máquina não é a própria máquina
        ("segredo", "Bearer segredo", "10.0.0.7", True, Acesso.LIVRE),
        ("segredo", "Bearer segred", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "segredo", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "Bearer é", "10.0.0.7", False, Acesso.SEM_TOKEN),
        ("segredo", "", "127.0.0.1", False, Acesso.LIVRE),
    ],
)
def test_quem_entra(token: str, autorizacao: str, ip: str, repassado: bool, acesso: Acesso) -> None:
    assert decidir(token=token, autorizacao=autorizacao, ip=ip, redes=LOCAIS, repassado=repassado) is acesso


def test_rede_cadastrada_entra_e_a_propria_maquina_deixa_de_entrar() -> None:
    def com(ip: str) -> Acesso:
        return decidir(token="", autorizacao="", ip=ip, redes=["10.0.0.0/8"], repassado=False)

    assert (com("10.9.9.9"), com("127.0.0.1")) == (Acesso.LIVRE, Acesso.DE_FORA)


def test_rota_recusa_com_o_codigo_e_o_que_fazer(client: Client, db: None, settings: Any) -> None:
    de_fora = client.get("/metricas", REMOTE_ADDR="203.0.113.9")
    assert (de_fora.status_code, de_fora.json()["codigo"]) == (403, "rede_nao_permitida")
    assert client.get("/metricas", headers={"X-Forwarded-For": "127.0.0.1"}).status_code == 403
    settings.TOKEN_METRICAS = "segredo"
    sem = client.get("/metricas", REMOTE_ADDR="203.0.113.9")
    assert (sem.status_code, sem.json()["codigo"], sem["WWW-Authenticate"]) == (
        401,
        "token_invalido",
        "Bearer",
    )
    com = client.get("/metricas", REMOTE_ADDR="203.0.113.9", headers={"Authorization": "Bearer segredo"})
    assert (com.status_code, com["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")


# ---- O que a porta conta


def test_porta_conta_respostas_por_fluxo_status_e_codigo(
    contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitar("/saude", [b""], metodo="GET")
    visitar("/dlr/mensagens", [b"meio", None])
    monkeypatch.setattr(porta, "_em_curso", porta.ESPERA_MAXIMA)
    for _ in range(3):
        visitar("/dlr/mensagens", [b"{}"])
    assert contadas() == {
        ("outro", "200", ""): 1,
        ("dlr", "400", "corpo_incompleto"): 1,
        ("dlr", "503", "porta_cheia"): 3,
    }


@pytest.mark.parametrize(
    "corpo", [b"", b"<html>", b"[]", b'{"codigo": 7}', b"{" + b" " * 4096 + b"}", b"\xff"]
)
def test_resposta_sem_codigo_nosso_conta_sem_motivo(contadas: Contadas, corpo: bytes) -> None:
    contagem.contar("dlr", 503, corpo)
    assert contadas() == {("dlr", "503", ""): 1}


def test_um_scrape_soma_os_processos_ate_os_que_morreram_na_marra(tmp_path: Path) -> None:
    """Três processos do mesmo pai contam e morrem de SIGKILL; um quarto lê a soma."""
    contar = (
        "import os, signal\nfrom config import contagem\n"
        "for _ in range(5): contagem.contar('evento', 503, b'{\"codigo\": \"fila_cheia\"}')\n"
        "print(flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ver = "from config import contagem\nfrom prometheus_client import generate_latest\n"
    ver += "print(generate_latest(contagem.ler_respostas()).decode())"
    ambiente = {**os.environ, "TMPDIR": str(tmp_path)}
    ambiente.pop("PROMETHEUS_MULTIPROC_DIR", None)

    def rodar(codigo: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", codigo], env=ambiente, cwd=ajustes.BASE_DIR, capture_output=True, text=True
        ).stdout

    for _ in range(3):
        rodar(contar)
    assert 'lastro_respostas_total{codigo="fila_cheia",fluxo="evento",status="503"} 15.0' in rodar(ver)


def test_contas_de_uma_web_que_acabou_sao_apagadas_e_as_dos_outros_nao(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contagem, "RAIZ_DAS_CONTAS", tmp_path)
    monkeypatch.setattr(contagem, "_SOMAS", {})
    monkeypatch.setattr(contagem, "PASTA", tmp_path / "nova")
    (tmp_path / "4194305").mkdir()  # acima do maior pid do Linux
    (tmp_path / str(os.getpid())).mkdir()
    contagem.contar("evento", 202, b"")
    assert {pasta.name for pasta in tmp_path.iterdir()} == {"nova", str(os.getpid())}


def test_pasta_que_nao_se_pode_criar_nao_derruba_a_porta(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arquivo").write_text("")
    monkeypatch.setattr(contagem, "PASTA", tmp_path / "arquivo" / "1")
    monkeypatch.setattr(contagem, "RAIZ_DAS_CONTAS", tmp_path / "arquivo")
    monkeypatch.setattr(contagem, "_SOMAS", {})
    assert visitar("/saude", [b""], metodo="GET")[0]["status"] == 200


# ---- O que o banco diz


def test_sites_filas_e_franquia(client: Client, db: None) -> None:
    hoje, agora = timezone.localdate(), timezone.now()
    loja = Aplicativo.objects.create(nome='Loja "1"\n', dominios=["l.com.br"], franquia=200)
    Uso.objects.create(aplicativo=loja, dia=hoje, quantidade_eventos=150, quantidade_recusados=4)
    Uso.objects.create(aplicativo=loja, dia=hoje - timedelta(days=40), quantidade_eventos=999)
    Recusa.objects.create(aplicativo=loja, dia=hoje, motivo="json_invalido", quantidade_requisicoes=3)
    RecusaDeCallback.objects.create(dia=hoje, motivo="token_invalido", quantidade=7)
    Lote.objects.create(recebido_em=agora - timedelta(seconds=50))
    Lote.objects.create(estacionado_em=agora)
    pagina = ler(client)
    assert um(pagina, "eventos_gravados_hoje") == 150
    assert um(pagina, "eventos_recusados_hoje") == 4
    assert um(pagina, "chamadas_recusadas_hoje", fluxo="evento", motivo="json_invalido") == 3
    assert um(pagina, "chamadas_recusadas_hoje", fluxo="dlr", motivo="token_invalido") == 7
    assert um(pagina, "franquia_uso", aplicativo=str(loja.pk), nome='Loja "1"\n') == 0.75
    assert um(pagina, "fila_itens", fila="lotes") == 1
    assert um(pagina, "fila_estacionados", fila="lotes") == 1
    assert 50 <= (um(pagina, "fila_idade_segundos", fila="lotes") or 0) < 110
    assert um(pagina, "fila_idade_segundos", fila="recepcoes") == 0
    assert um(pagina, "banco_acessivel") == 1
    assert um(pagina, "versao", versao="0.1.0") == 1


@pytest.fixture
def mensagens(db: None) -> None:
    """Três aceitas (duas entregues, uma sem recibo), duas recusadas, e uma prova independente."""
    integracao = Integracao.objects.create(slug="op", formato="padrao", token_resumo="x")
    for n, (aceita, estado) in enumerate([(True, "DELIVERED")] * 2 + [(True, None)] + [(False, None)] * 2):
        mensagem = Mensagem.objects.create(integracao=integracao, id_interno=str(n), aceita=aceita)
        Projecao.objects.create(
            mensagem=mensagem,
            estado=estado,
            final=bool(estado),
            motivo="m",
            versao_das_regras=1,
            atualizada_em=timezone.now(),
        )
    Verificacao.objects.create(mensagem=mensagem, origem="codigo", ocorrida_em=timezone.now())
    Excecao.objects.create(integracao=integracao, tipo="conflito_final", alvo="1", aberta_em=timezone.now())


ESPERADAS = {
    ("aceite", "sim"): 3,
    ("aceite", "nao"): 2,
    ("relatado", "DELIVERED"): 2,
    ("relatado", "sem_recibo"): 3,
    ("verificado", "provas"): 1,
}


def test_mensagens_por_dimensao_nunca_se_misturam(client: Client, mensagens: None) -> None:
    pagina = ler(client)
    vistas = {tuple(dict(r).values()): v for (nome, r), v in pagina.items() if nome == "lastro_mensagens"}
    assert vistas == ESPERADAS
    assert um(pagina, "excecoes_abertas", tipo="conflito_final") == 1


def test_tabela_grande_e_estimada_sem_ser_contada(
    client: Client, mensagens: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consultas, "LINHAS_CONTADAS", 0)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE dlr_mensagem, dlr_projecao, dlr_verificacao")
    assert consultas.contar_mensagens() == ESPERADAS


def test_capturas_da_hora(client: Client, db: None) -> None:
    agora = timezone.now()
    hora = truncar_na_hora(agora)
    camera = Dispositivo.objects.create(nome="c", token_resumo="c", ultimo_contato_em=agora)
    Dispositivo.objects.create(nome="d", token_resumo="d", ultimo_contato_em=agora - timedelta(hours=1))
    for quando, medida, faixa, quantidade in [
        (hora, "gravadas", 0, 9),
        (hora, "reenvio_link", 0, 2),
        (hora, "reenvio_fila", 0, 1),
        (hora, "descartados:cheia", 0, 4),
        (hora - timedelta(hours=1), "gravadas", 0, 100),
        (hora - timedelta(hours=1), "latencia_ms", achar_faixa(2_000), 90),
        (hora, "latencia_ms", achar_faixa(10_000), 10),
    ]:
        MedidaDeCaptura.objects.create(
            dispositivo=camera, hora=quando, medida=medida, faixa=faixa, quantidade=quantidade
        )
    pagina = ler(client)
    assert um(pagina, "capturas_gravadas_na_hora") == 9
    assert um(pagina, "capturas_reenvios_na_hora", causa="link") == 2
    assert um(pagina, "capturas_reenvios_na_hora", causa="fila") == 1
    assert um(pagina, "capturas_descartadas_na_hora", motivo="cheia") == 4
    assert um(pagina, "capturas_latencia_segundos", quantil="0.5") == pytest.approx(2, rel=0.05)
    assert um(pagina, "capturas_latencia_segundos", quantil="0.95") == pytest.approx(10, rel=0.05)
    assert (um(pagina, "dispositivos"), um(pagina, "dispositivos_silenciosos")) == (2, 1)


def test_avisos_e_entregas(client: Client, db: None) -> None:
    agora = timezone.now()
    tempos = {"aberto_em": agora, "visto_em": agora, "novidade_em": agora}
    aviso = Aviso.objects.create(tipo="fila", alvo="lotes", titulo="t", **tempos)
    Aviso.objects.create(tipo="fila", alvo="lotes", titulo="t", resolvido_em=agora, **tempos)
    comuns = {"aviso": aviso, "canal": "email", "conteudo": {}, "criada_em": agora, "fixada_em": agora}
    EntregaDeAviso.objects.create(motivo="abriu", disponivel_em=agora - timedelta(seconds=40), **comuns)
    EntregaDeAviso.objects.create(motivo="abriu", situacao="desistida", disponivel_em=agora, **comuns)
    pagina = ler(client)
    assert um(pagina, "avisos_abertos", tipo="fila") == 1
    assert um(pagina, "avisos_entregas_pendentes") == 1
    assert um(pagina, "avisos_entregas_desistidas") == 1
    assert 40 <= (um(pagina, "avisos_entregas_atraso_segundos") or 0) < 100


def test_atras_de_um_proxy_calado_so_entra_quem_tem_o_token(client: Client, settings: Any) -> None:
    settings.ATRAS_DE_PROXY = True
    assert client.get("/metricas").status_code in (401, 403)


def test_com_o_banco_fora_a_pagina_diz_isso_e_mostra_a_porta(
    client: Client, contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cair() -> Iterator[Any]:
        raise OperationalError("conexão recusada")
        yield

    contagem.contar("evento", 503, b'{"codigo": "armazenamento_indisponivel"}')
    monkeypatch.setattr(familias, "MEDIDORES", (cair,))
    pagina = ler(client)
    assert um(pagina, "banco_acessivel") == 0
    assert contadas() == {("evento", "503", "armazenamento_indisponivel"): 1}


def test_coleta_presa_no_banco_nao_prende_as_outras(
    client: Client, contadas: Contadas, monkeypatch: pytest.MonkeyPatch
) -> None:
    presa, soltar = threading.Event(), threading.Event()

    def congelar() -> Iterator[Any]:
        presa.set()
        soltar.wait(30)
        return iter(())

    monkeypatch.setattr(familias, "MEDIDORES", (congelar,))
    thread = threading.Thread(target=views.coleta.ler)
    thread.start()
    assert presa.wait(20)
    contagem.contar("evento", 503, b"")
    durante, pagina = contadas(), ler(client)
    soltar.set()
    thread.join()
    assert (um(pagina, "banco_acessivel"), durante) == (0, {("evento", "503", ""): 1})


def test_muitos_perguntando_juntos_fazem_uma_coleta_so(monkeypatch: pytest.MonkeyPatch) -> None:
    feitas: list[float] = []

    def demorar() -> Iterator[Any]:
        feitas.append(time.monotonic())
        time.sleep(0.1)
        return iter(())

    monkeypatch.setattr(familias, "MEDIDORES", (demorar,))
    monkeypatch.setattr(views, "VALIDADE_S", 60.0)
    coleta = views.Coleta()
    threads = [threading.Thread(target=coleta.ler) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(feitas) == 1


def test_coleta_custa_um_numero_fixo_de_consultas(
    client: Client, mensagens: None, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(40):
        ler(client)


# ---- O que vem pronto


def nomes_na_pagina(client: Client) -> set[str]:
    """Toda família da página, mesmo sem amostra, com o sufixo que o contador ganha."""
    texto = client.get("/metricas").text
    nomes = set(re.findall(r"^# TYPE (\S+)", texto, re.M))
    return nomes | {nome.removesuffix("_total") for nome in nomes}


def nomes_citados(expressoes: list[str]) -> set[str]:
    return {nome for expressao in expressoes for nome in re.findall(r"\blastro_[a-z0-9_]+", expressao)}


def ler_regras() -> list[dict[str, Any]]:
    arquivo = yaml.safe_load((DOCS / "prometheus/alertas.yml").read_text())
    return [regra for grupo in arquivo["groups"] for regra in grupo["rules"]]


def ler_paineis() -> list[dict[str, Any]]:
    return json.loads((DOCS / "grafana/lastro.json").read_text())["panels"]


def test_toda_metrica_das_regras_e_do_painel_existe(client: Client, db: None) -> None:
    contagem.contar("evento", 202, b"")
    existentes = nomes_na_pagina(client)
    citadas = nomes_citados([regra["expr"] for regra in ler_regras()])
    citadas |= nomes_citados([alvo["expr"] for painel in ler_paineis() for alvo in painel["targets"]])
    assert citadas - existentes - {"lastro_respostas_total"} == set()
    assert "lastro_respostas_total" in citadas
    documentadas = nomes_citados([(DOCS / "metricas.md").read_text()])
    assert existentes - documentadas - {"lastro_respostas"} == set()


def test_regras_tem_nome_expressao_severidade_e_resumo() -> None:
    regras = ler_regras()
    assert len({regra["alert"] for regra in regras}) == len(regras) > 10
    for regra in regras:
        assert regra["expr"].strip() and regra["annotations"]["resumo"].strip()
        assert regra["labels"]["severidade"] in {"critica", "atencao"}
        assert regra["expr"].count("(") == regra["expr"].count(")")


def test_paineis_tem_id_proprio_consulta_e_nao_se_sobrepoem() -> None:
    paineis = ler_paineis()
    assert len({painel["id"] for painel in paineis}) == len(paineis)
    ocupadas: set[tuple[int, int]] = set()
    for painel in paineis:
        assert painel["title"] and all(alvo["expr"].strip() for alvo in painel["targets"])
        lugar = painel["gridPos"]
        celulas = {
            (x, y)
            for x in range(lugar["x"], lugar["x"] + lugar["w"])
            for y in range(lugar["y"], lugar["y"] + lugar["h"])
        }
        assert lugar["x"] + lugar["w"] <= 24 and not celulas & ocupadas
        ocupadas |= celulas
