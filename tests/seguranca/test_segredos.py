"""Segredos plantados passam pelos fluxos, pelo painel e pelos erros; nenhum aparece no que o servidor escreve."""

import base64
import contextlib
import hmac
import json
import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, quote_plus

import httpx
import pytest

from tests.caos.servidor import ServidorLocal, esperar

SEGREDO_DO_SERVIDOR = "segredo-do-servidor-Kq7+zT/0xW9vB3nM5rJ8"
TOKEN_DAS_METRICAS = "token-das-metricas-Hh4+Yu/2"
SENHA_DO_BANCO = "senha-do-banco-Pw+9/zR"
SENHA_CERTA = "a senha certa da ana +/42"
SENHA_ERRADA = "quase a senha certa +/41"
SENHA_DO_BASIC = "senha-do-basic-Tt+1/Gg"
SEGREDO_DA_ASSINATURA = "segredo-da-assinatura-Vv+3/Kk"
CAMINHO_DO_WEBHOOK = "caminho-secreto-do-webhook-Zz8"
TELEFONE = "5511987654321"
ENDERECO = "203.0.113.77"  # de quem manda, dito pelo proxy

# O telefone é o dado que se recebe: fica nas mensagens, na evidência e no que se derivou dela. Em registro, nunca.
ONDE_O_TELEFONE_MORA = re.compile(
    r"(dlr_(mensagem|recepcao|eventologico|ocorrencia)|ingestao_(captura|erro|evento|lote))$"
)
# O endereço de quem tenta entrar é o que a tranca do login conta; o de quem manda eventos não fica em lugar nenhum.
ONDE_O_ENDERECO_MORA = re.compile(r"axes_access")


@dataclass(slots=True)
class Cena:
    """O servidor, e os segredos que já se conhecem: nome → valor."""

    servidor: ServidorLocal
    segredos: dict[str, str] = field(default_factory=dict)
    _ids: Iterator[int] = field(default_factory=lambda: iter(range(10**6)))

    def pedir(self, metodo: str, caminho: str, **opcoes: Any) -> httpx.Response:
        cabecalhos = {"x-forwarded-for": ENDERECO, "cf-connecting-ip": ENDERECO, **opcoes.pop("headers", {})}
        url = f"http://127.0.0.1:{self.servidor.porta}{caminho}"
        return httpx.request(metodo, url, headers=cabecalhos, timeout=60, **opcoes)


@pytest.fixture(scope="module")
def cena() -> Iterator[Cena]:
    ambiente = {
        "LASTRO_SEGREDO": SEGREDO_DO_SERVIDOR,
        "LASTRO_TOKEN_METRICAS": TOKEN_DAS_METRICAS,
        "LASTRO_ATRAS_DE_PROXY": "1",
    }
    with ServidorLocal(ambiente=ambiente) as servidor:
        preparado = servidor.rodar_modulo("tests.seguranca.plantio")
        cena = Cena(servidor)
        cena.segredos = {
            "segredo do servidor": SEGREDO_DO_SERVIDOR,
            "token das métricas": TOKEN_DAS_METRICAS,
            "senha certa": SENHA_CERTA,
            "senha errada": SENHA_ERRADA,
            "senha do Basic": SENHA_DO_BASIC,
            "segredo da assinatura": SEGREDO_DA_ASSINATURA,
            "telefone": TELEFONE,
            "endereço": ENDERECO,
            **preparado["segredos"],
        }
        percorrer(cena, preparado)
        yield cena


# ---- O passeio: cada fluxo, com prova certa, errada e nenhuma, com o servidor inteiro e com ele quebrado


def percorrer(cena: Cena, preparado: dict[str, Any]) -> None:
    visitar_fluxos(cena, preparado, esperado=range(200, 500))
    entrar_no_painel(cena, preparado)
    with tabelas_que_recusam(cena.servidor):
        visitar_fluxos(cena, preparado, esperado=range(200, 600))
        assert esperar(lambda: itens_com_falha(cena.servidor) > 0, 60), (
            "nenhum item chegou a falhar no worker"
        )
    with cena.servidor.sem_postgres():
        visitar_fluxos(cena, preparado, esperado=range(200, 600))
    cena.servidor.esperar_de_pe()
    visitar_fluxos(cena, preparado, esperado=range(200, 500))


def visitar_fluxos(cena: Cena, preparado: dict[str, Any], *, esperado: range) -> None:
    for metodo, caminho, opcoes in pedidos(cena, preparado):
        resposta = cena.pedir(metodo, caminho, **opcoes)
        assert resposta.status_code in esperado, (caminho, resposta.status_code, resposta.text[:300])
        for nome in set(cena.segredos) - {
            "telefone"
        }:  # quem consulta a própria mensagem vê o próprio telefone
            assert cena.segredos[nome] not in resposta.text, (nome, caminho)


def pedidos(cena: Cena, preparado: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    token, assinada = cena.segredos["token da integração"], cena.segredos["token da assinada"]
    recibo = {"id_externo": f"x{next(cena._ids)}", "estado": "DELIVERED", "destino": f"+{TELEFONE}"}
    do_basic = base64.b64encode(f"op:{SENHA_DO_BASIC}".encode()).decode()
    portador = {"authorization": f"Bearer {token}"}
    for caminho in (f"/dlr/callback/aberta/{token}", f"/dlr/callback/assinada/{assinada}"):
        yield "POST", caminho, {"json": recibo}
        yield "POST", f"{caminho}x", {"json": recibo}
        yield "PUT", caminho, {"json": recibo}
        yield "POST", caminho, {"content": b"\xff{", "headers": {"content-type": "application/json"}}
    for autorizacao in (
        f"Bearer {token}",
        f"Bearer {token}x",
        f"Basic {do_basic}",
        f"Basic {do_basic}x",
        token,
    ):
        yield "POST", "/dlr/callback/aberta", {"json": recibo, "headers": {"authorization": autorizacao}}
    yield from chamadas_assinadas(cena)
    mensagem = {"id_interno": f"m{next(cena._ids)}", "destino": f"+{TELEFONE}", "aceita": True}
    yield "POST", "/dlr/mensagens", {"json": {"mensagens": [mensagem]}, "headers": portador}
    yield "POST", "/dlr/mensagens", {"content": TELEFONE.encode() + b"{", "headers": portador}
    yield "GET", "/dlr/relatorio", {"headers": portador}
    yield "GET", f"/dlr/relatorio?token={token}", {}
    evento = {"evento_id": str(uuid.uuid4()), "tipo": "ERRO_JS", "mensagem": f"falhou para {TELEFONE}"}
    lote = {"chave": preparado["chave"], "sessao": {"sessao_externa": "s"}, "eventos": [evento]}
    for origem in ("https://segredos.exemplo", "https://outro.exemplo"):
        yield "POST", "/evento/ingestao", {"json": lote, "headers": {"origin": origem}}
    do_aparelho = {"authorization": f"Bearer {cena.segredos['token do aparelho']}"}
    captura = {"id_evento": str(uuid.uuid4()), "capturado_em": "2026-11-30T12:00:00Z", "idade_ms": None, "seq": 1,
               "tentativa": 1, "payload": {"dono": TELEFONE}, "quadro": None, "caixa": None}  # fmt: skip
    for corpo in ({"eventos": [captura]}, {"eventos": TELEFONE}):
        yield "POST", "/captura/ingestao", {"json": corpo, "headers": do_aparelho}
    yield "POST", "/captura/pulso", {"json": {"profundidade": 1}, "headers": do_aparelho}
    yield (
        "GET",
        "/captura/pedidos?espera_s=0",
        {"headers": {"authorization": do_aparelho["authorization"] + "x"}},
    )
    yield "GET", "/metricas", {"headers": {"authorization": f"Bearer {TOKEN_DAS_METRICAS}"}}
    yield "GET", "/metricas", {"headers": {"authorization": f"Bearer {TOKEN_DAS_METRICAS}x"}}


def chamadas_assinadas(cena: Cena) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """O HMAC do fornecedor, certo e errado; a assinatura também é um segredo, enquanto vale."""
    corpo = f"MessageSid=SM{next(cena._ids)}&MessageStatus=delivered&To=%2B{TELEFONE}"
    url = f"http://127.0.0.1:{cena.servidor.porta}/dlr/callback/assinada"
    pares = sorted(par.split("=") for par in corpo.replace("%2B", "+").split("&"))
    conteudo = url + "".join(nome + valor for nome, valor in pares)
    certa = base64.b64encode(hmac.digest(SEGREDO_DA_ASSINATURA.encode(), conteudo.encode(), "sha1")).decode()
    cena.segredos[f"assinatura {len(cena.segredos)}"] = certa
    for assinatura in (certa, certa[::-1]):
        cabecalhos = {"x-twilio-signature": assinatura, "content-type": "application/x-www-form-urlencoded"}
        yield "POST", "/dlr/callback/assinada", {"content": corpo, "headers": cabecalhos}


def entrar_no_painel(cena: Cena, preparado: dict[str, Any]) -> None:
    base = f"http://127.0.0.1:{cena.servidor.porta}"
    with httpx.Client(base_url=base, headers={"x-forwarded-for": ENDERECO}, timeout=60) as navegador:

        def postar(caminho: str, **campos: str) -> httpx.Response:
            navegador.get(caminho)
            campos["csrfmiddlewaretoken"] = navegador.cookies["csrftoken"]
            return navegador.post(caminho, data=campos, headers={"referer": base + caminho})

        def entrar(senha: str) -> httpx.Response:
            return postar("/admin/login/", username="ana", password=senha, next="/admin/")

        assert entrar(SENHA_ERRADA).status_code == 200
        assert (
            navegador.post("/admin/login/", data={"username": "ana", "password": SENHA_CERTA}).status_code
            == 403
        )
        assert entrar(SENHA_CERTA).status_code == 302
        cena.segredos["sessão"] = navegador.cookies["sessionid"]
        tela = navegador.get("/admin/segundo-fator/").text
        do_totp = re.search(r"[A-Z2-7]{4}(?: [A-Z2-7]{4}){7}", tela)
        assert do_totp is not None, tela[:500]
        cena.segredos["segredo do TOTP"] = do_totp[0].replace(" ", "")
        assert "não confere" in postar("/admin/segundo-fator/", codigo="000000").text
        for rota in preparado["telas"]:
            assert navegador.get(rota).status_code == 200, rota
        teste = f"/admin/painel/destinodeaviso/{preparado['webhook']}/enviar-teste/"
        assert postar(teste).status_code == 302


@contextlib.contextmanager
def tabelas_que_recusam(servidor: ServidorLocal) -> Iterator[None]:
    """Toda escrita nas tabelas finais falha com o conteúdo no DETAIL: um 500 nas portas, e veneno no worker."""
    tabelas = ("dlr_mensagem", "dlr_eventologico", "ingestao_captura", "ingestao_evento", "dlr_recepcao")
    with servidor.conectar() as banco:
        for tabela in tabelas:
            banco.execute(f"ALTER TABLE {tabela} ADD CONSTRAINT nada_entra CHECK (false) NOT VALID")
        yield
        for tabela in tabelas:
            banco.execute(f"ALTER TABLE {tabela} DROP CONSTRAINT nada_entra")


def itens_com_falha(servidor: ServidorLocal) -> int:
    return int(servidor.consultar("SELECT count(*) FROM ingestao_lote WHERE tentativas > 0")[0][0])


# ---- O que se procura, e onde


def formas(segredo: str) -> dict[str, bytes]:
    """Em claro, em base64 (nas três posições em que um texto pode cair) e com os escapes de uma URL."""
    cru = segredo.encode()
    achaveis = {"claro": segredo, "escapado": quote(segredo, safe=""), "formulário": quote_plus(segredo),
                "json": json.dumps(segredo)[1:-1]}  # fmt: skip
    for deslocamento in range(3):
        inteiro = base64.b64encode(b"\0" * deslocamento + cru).decode().rstrip("=")
        achaveis[f"base64+{deslocamento}"] = inteiro[4 if deslocamento else 0 : -2]
    return {nome: texto.encode() for nome, texto in achaveis.items()}


def procurar(cena: Cena, onde: str, conteudo: bytes, *, menos: set[str]) -> list[str]:
    return [
        f"{nome} ({forma}) em {onde}"
        for nome, segredo in cena.segredos.items()
        if nome not in menos
        for forma, procurado in formas(segredo).items()
        if procurado in conteudo
    ]


def test_nenhum_registro_traz_segredo(cena: Cena) -> None:
    registros = [cena.servidor.saida, *sorted((cena.servidor.dados / "registros").iterdir())]
    assert {arquivo.stem for arquivo in registros} >= {"saida", "web", "worker", "beat", "postgres", "valkey"}
    achados = [
        achado
        for arquivo in registros
        for achado in procurar(cena, arquivo.name, arquivo.read_bytes(), menos=set())
    ]
    assert achados == []
    web = (cena.servidor.dados / "registros" / "web.log").read_text("utf-8")
    assert "Traceback" in web and "IntegrityError" in web and "banco indisponivel" in web  # os erros houve


def test_nenhuma_tabela_traz_segredo_em_claro(cena: Cena) -> None:
    achados: list[str] = []
    with cena.servidor.conectar() as banco:
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' ORDER BY 1"
        tabelas = [nome for (nome,) in banco.execute(sql).fetchall()]
        for tabela in tabelas:
            menos = {"sessão"} if tabela == "django_session" else set()  # a chave é a própria sessão
            menos |= {"telefone"} if ONDE_O_TELEFONE_MORA.search(tabela) else set()
            menos |= {"endereço"} if ONDE_O_ENDERECO_MORA.search(tabela) else set()
            menos |= {"caminho do webhook"} if tabela == "painel_destinodeaviso" else set()
            with banco.cursor(binary=True) as cursor:
                linhas = cursor.execute(f"SELECT * FROM {tabela}").fetchall()
            for linha in linhas:
                achados += procurar(cena, tabela, juntar(linha), menos=menos)
    assert len(tabelas) > 40
    assert sorted(set(achados)) == []


def juntar(linha: tuple[Any, ...]) -> bytes:
    """Uma linha como bytes: os binários como são, o resto como JSON, com e sem escapes."""
    partes = [
        campo if isinstance(campo, bytes) else json.dumps(campo, default=str).encode() for campo in linha
    ]
    textos = [str(campo).encode() for campo in linha if not isinstance(campo, bytes)]
    return b"\n".join([*partes, *textos])


def test_o_que_se_procura_seria_achado(cena: Cena) -> None:
    """O teste de cima não pode passar por não saber procurar."""
    for segredo in (SENHA_CERTA, SEGREDO_DA_ASSINATURA):
        cru = f"op:{segredo}".encode()
        for escrito in (
            cru,
            base64.b64encode(cru),
            base64.b64encode(b"x" + cru),
            quote(cru, safe="").encode(),
        ):
            assert procurar(cena, "aqui", b"linha " + escrito + b" fim", menos=set()) != [], escrito
    assert procurar(cena, "aqui", b"nada", menos=set()) == []


@pytest.mark.parametrize("url", ["127.0.0.1:1", "nome.que.nao.existe.invalid"])
@pytest.mark.parametrize(
    "comando", [["situacao"], ["migrate", "--check"], ["check", "--database", "default"]]
)
def test_a_senha_do_banco_nao_aparece_quando_ele_nao_responde(url: str, comando: list[str]) -> None:
    from tests.config.test_producao import rodar

    endereco = f"postgresql://lastro:{quote(SENHA_DO_BANCO, safe='')}@{url}/lastro?connect_timeout=3"
    fim = rodar("manage.py", *comando, DATABASE_URL=endereco)
    assert fim.returncode != 0 and (fim.stderr or fim.stdout)
    for procurado in formas(SENHA_DO_BANCO).values():
        assert procurado.decode() not in fim.stdout + fim.stderr
