"""O dia de cada papel, no Chromium, sobre os dados da demonstração: o que faz, e onde a porta se fecha."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.caos.servidor import ServidorLocal, esperar
from tests.demonstracao import senha_de

PRAZO_MS = 60_000  # a máquina pode estar rodando o resto da suíte


class Pessoa:
    """Alguém no painel, que conta os próprios cliques."""

    def __init__(self, pagina: Page, servidor: ServidorLocal) -> None:
        self.pagina = pagina
        self.servidor = servidor
        self.raiz = f"http://127.0.0.1:{servidor.porta}"
        self.cliques = 0

    def entrar(self, usuario: str) -> None:
        self.pagina.goto(f"{self.raiz}/admin/login/")
        self.pagina.fill("input[name=username]", usuario)
        self.pagina.fill("input[name=password]", senha_de(self.servidor, usuario))
        self.pagina.click("button[type=submit]")
        self.pagina.wait_for_url(f"{self.raiz}/admin/")

    def clicar(self, alvo: Locator) -> None:
        alvo.click()
        self.cliques += 1

    def menu(self, nome: str) -> None:
        """Um item do menu, que a pessoa acha pelo nome."""
        itens = self.pagina.locator("a[href^='/admin/']:visible")
        self.clicar(itens.filter(has=self.pagina.get_by_text(nome, exact=True)).first)

    def abrir(self, trecho: str) -> None:
        """O link da página que leva a um endereço com este trecho."""
        self.clicar(self.pagina.locator(f"a[href*='{trecho}']:visible").first)

    def escrever(self, campo: str, texto: str) -> None:
        self.pagina.fill(f"[name={campo}]:visible", texto)

    def apertar(self, nome: str) -> None:
        self.clicar(self.pagina.get_by_role("button", name=nome, exact=True))

    def ver(self, texto: str) -> None:
        expect(self.pagina.locator("body")).to_contain_text(texto, timeout=PRAZO_MS)

    def status(self, rota: str) -> int:
        """O que o painel responde a esta pessoa num endereço digitado."""
        return self.pagina.request.get(f"{self.raiz}{rota}", max_redirects=0).status

    def itens_do_menu(self) -> set[str]:
        enderecos = self.pagina.eval_on_selector_all(
            "a[href^='/admin/']", "l => l.map(a => a.getAttribute('href'))"
        )
        return {e for e in enderecos if e.count("/") == 4}


@pytest.fixture
def pessoa(chromium: Browser, demonstrado: ServidorLocal) -> Iterator[Pessoa]:
    contexto = chromium.new_context(locale="pt-BR", viewport={"width": 1366, "height": 768})
    contexto.set_default_timeout(PRAZO_MS)
    yield Pessoa(contexto.new_page(), demonstrado)
    contexto.close()


def achar(servidor: ServidorLocal, sql: str) -> Any:
    """O primeiro valor de uma consulta, que tem de haver."""
    linhas = servidor.consultar(sql)
    assert linhas, sql
    return linhas[0][0] if len(linhas[0]) == 1 else linhas[0]


# ---- Suporte


def test_suporte_acha_o_que_houve_com_um_usuario_em_tres_cliques_e_resolve_o_erro(pessoa: Pessoa) -> None:
    sessao, usuario, erro = achar(
        pessoa.servidor,
        """SELECT s.id, s.usuario_id, e.id::text FROM ingestao_sessao s JOIN ingestao_evento v ON v.sessao_id = s.id
        JOIN ingestao_erro e ON e.id = v.erro_id WHERE s.usuario_id IS NOT NULL AND e.estado = 'aberto'
        ORDER BY s.ultima_atividade_em DESC, e.id LIMIT 1""",
    )
    pessoa.entrar("suporte")
    pessoa.menu("Sessões")
    pessoa.pagina.fill("input[name=q]", usuario)
    pessoa.pagina.press("input[name=q]", "Enter")
    pessoa.pagina.wait_for_url("**q=**")
    pessoa.abrir(f"/sessao/{sessao}/change/")
    pessoa.ver("Linha do tempo")
    pessoa.abrir(f"/erro/{erro}/change/")
    pessoa.ver("Ocorrências mais recentes")
    assert pessoa.cliques <= 3
    pessoa.escrever("nota", "Corrigido na versão 4.3.")
    pessoa.apertar("Resolver")
    pessoa.ver("1 erro resolvido")
    pessoa.ver("Corrigido na versão 4.3.")
    assert achar(pessoa.servidor, f"SELECT estado FROM ingestao_erro WHERE id = '{erro}'") == "resolvido"


def test_suporte_contesta_uma_captura_e_o_aparelho_fica_sabendo(pessoa: Pessoa) -> None:
    captura = achar(
        pessoa.servidor,
        """SELECT id_evento::text FROM ingestao_captura c WHERE quadro_sha256 IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM ingestao_pedido p WHERE p.captura_id = c.id_evento)
        ORDER BY gravado_em DESC LIMIT 1""",
    )
    pessoa.entrar("suporte")
    pessoa.menu("Capturas")
    pessoa.abrir(f"/captura/{captura}/change/")
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Contestar", exact=True))
    pessoa.apertar("Contestar e pedir o quadro")
    pessoa.ver("Escreva o motivo: ele fica na trilha")
    situacao = f"SELECT situacao FROM ingestao_pedido WHERE captura_id = '{captura}'"
    assert not pessoa.servidor.consultar(situacao)
    pessoa.escrever("motivo", "O condutor diz que não esteve lá.")
    pessoa.apertar("Contestar e pedir o quadro")
    pessoa.ver("O condutor diz que não esteve lá.")
    assert achar(pessoa.servidor, situacao) == "aberto"


def test_suporte_e_recusado_no_que_nao_e_dele(pessoa: Pessoa) -> None:
    pessoa.entrar("suporte")
    for rota in (
        "/admin/dlr/excecao/",
        "/admin/dlr/mensagem/",
        "/admin/ingestao/aplicativo/",
        "/admin/auth/user/",
    ):
        assert pessoa.status(rota) == 403
        assert rota not in pessoa.itens_do_menu()
    erro = achar(pessoa.servidor, "SELECT id::text FROM ingestao_erro LIMIT 1")
    assert pessoa.status(f"/admin/ingestao/erro/{erro}/delete/") == 403


# ---- Operação


def filtrar_sem_correlacao(pessoa: Pessoa) -> None:
    pessoa.menu("Exceções")
    pessoa.pagina.select_option("select:has(option[value*='sem_correlacao'])", label="Sem correlação")
    pessoa.pagina.wait_for_url("**tipo=sem_correlacao**")


def test_operacao_liga_um_recibo_a_mao_pela_dica(pessoa: Pessoa) -> None:
    excecao, mensagem = achar(
        pessoa.servidor,
        """SELECT x.id, x.dicas->0->>'mensagem' FROM dlr_excecao x JOIN dlr_eventologico e ON e.id = x.evento_id
        WHERE x.situacao = 'aberta' AND e.id_externo = '42424242'""",
    )
    pessoa.entrar("operacao")
    filtrar_sem_correlacao(pessoa)
    pessoa.abrir(f"/excecao/{excecao}/change/")
    pessoa.ver("Quase acertos")
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Ligar a esta").first)
    pessoa.escrever("motivo", "Só faltam os zeros da esquerda.")
    pessoa.apertar("Ligar à mão")
    pessoa.ver(f"1 recibo ligado à mensagem {mensagem}, que agora está DELIVERED")
    estado = f"SELECT estado FROM dlr_projecao WHERE mensagem_id = {mensagem}"
    assert achar(pessoa.servidor, estado) == "DELIVERED"


def test_operacao_reprocessa_muitas_vendo_antes_quantas_se_resolvem(pessoa: Pessoa) -> None:
    resolve = achar(
        pessoa.servidor,
        """SELECT x.id FROM dlr_excecao x JOIN dlr_eventologico e ON e.id = x.evento_id
        WHERE x.situacao = 'aberta' AND e.id_externo = '55550001'""",
    )
    pessoa.entrar("operacao")
    filtrar_sem_correlacao(pessoa)
    pessoa.pagina.locator("#action-toggle").check()
    pessoa.pagina.select_option("select[name=action]", "reprocessar")
    pessoa.apertar("Executar")
    pessoa.ver("Nada foi gravado")
    assert achar(pessoa.servidor, f"SELECT situacao FROM dlr_excecao WHERE id = {resolve}") == "aberta"
    pessoa.escrever("motivo", "A integração agora ignora os zeros da esquerda.")
    pessoa.apertar("Reprocessar")
    pessoa.ver("resolvida")
    assert achar(pessoa.servidor, f"SELECT situacao FROM dlr_excecao WHERE id = {resolve}") == "resolvida"


def test_operacao_reprojeta_vendo_antes_o_que_muda(pessoa: Pessoa) -> None:
    integracao = achar(pessoa.servidor, "SELECT id FROM dlr_integracao WHERE slug = 'infobip-cobranca'")
    finais = f"""SELECT count(*) FROM dlr_projecao p JOIN dlr_mensagem m ON m.id = p.mensagem_id
        WHERE m.integracao_id = {integracao} AND p.estado = 'REJECTED' AND p.final"""
    antes = achar(pessoa.servidor, finais)
    assert antes > 0
    pessoa.entrar("operacao")
    pessoa.menu("Integrações")
    pessoa.abrir(f"/integracao/{integracao}/change/")
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Reprojetar"))
    pessoa.ver("Nada foi gravado ainda.")
    assert achar(pessoa.servidor, finais) == antes
    pessoa.apertar("Aplicar")
    assert esperar(lambda: achar(pessoa.servidor, finais) == 0, 30)


def test_operacao_e_recusada_no_que_nao_e_dela(pessoa: Pessoa) -> None:
    integracao = achar(pessoa.servidor, "SELECT id FROM dlr_integracao LIMIT 1")
    pessoa.entrar("operacao")
    for rota in (
        "/admin/ingestao/sessao/",
        "/admin/ingestao/captura/",
        "/admin/ingestao/aplicativo/",
        "/admin/auth/user/",
    ):
        assert pessoa.status(rota) == 403
        assert rota not in pessoa.itens_do_menu()
    for ato in ("trocar-token", "mudar-finais", "excluir"):
        assert pessoa.status(f"/admin/dlr/integracao/{integracao}/{ato}/") == 403
    assert pessoa.status("/admin/dlr/integracao/add/") == 403


# ---- Administração


def test_administracao_cria_um_site_e_ele_ja_recebe(pessoa: Pessoa) -> None:
    pessoa.entrar("administracao")
    pessoa.menu("Aplicativos")
    pessoa.abrir("/aplicativo/add/")
    pessoa.escrever("nome", "Site do passeio")
    pessoa.escrever("dominios", "passeio.example")
    pessoa.apertar("Salvar")
    pessoa.ver("pk_live_")
    chave = achar(pessoa.servidor, "SELECT chave FROM ingestao_aplicativo WHERE nome = 'Site do passeio'")
    lote = {
        "chave": chave,
        "sessao": {"sessao_externa": "v"},
        "eventos": [{"evento_id": "1", "tipo": "PAGINA"}],
    }
    resposta = httpx.post(
        f"{pessoa.raiz}/evento/ingestao", json=lote, headers={"origin": "https://passeio.example"}
    )
    assert (resposta.status_code, resposta.json()["aceitos"]) == (202, 1)


def test_administracao_cria_um_aparelho_e_o_token_mostrado_vale(pessoa: Pessoa) -> None:
    pessoa.entrar("administracao")
    pessoa.menu("Dispositivos")
    pessoa.abrir("/dispositivo/add/")
    pessoa.escrever("nome", "Aparelho do passeio")
    pessoa.apertar("Salvar")
    token = pessoa.pagina.locator("code:has-text('cap_')").first.inner_text().strip()
    assert pulsar(pessoa, token) == 200
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Já copiei"))
    assert token not in pessoa.pagina.content()


def pulsar(pessoa: Pessoa, token: str) -> int:
    autorizacao = {"authorization": f"Bearer {token}"}
    return httpx.post(f"{pessoa.raiz}/captura/pulso", json={}, headers=autorizacao).status_code


def test_administracao_cria_uma_integracao_e_troca_o_token_dela(pessoa: Pessoa) -> None:
    pessoa.entrar("administracao")
    pessoa.menu("Integrações")
    pessoa.abrir("/integracao/add/")
    pessoa.escrever("slug", "passeio")
    pessoa.pagina.select_option("select[name=formato]", "padrao")
    pessoa.apertar("Salvar")
    primeiro = pessoa.pagina.locator("code:has-text('dlr_')").first.inner_text().strip()
    assert chamar(pessoa, primeiro) == 202
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Já copiei"))
    pessoa.clicar(pessoa.pagina.get_by_role("link", name="Trocar o token").first)
    pessoa.apertar("Trocar o token")
    segundo = pessoa.pagina.locator("code:has-text('dlr_')").first.inner_text().strip()
    assert segundo != primeiro
    # Cada processo da porta conhece o anterior por até dois segundos.
    assert esperar(lambda: [chamar(pessoa, segundo) for _ in range(6)] == [202] * 6, 30, passo_s=0.5)
    assert chamar(pessoa, primeiro) in (401, 403)


def chamar(pessoa: Pessoa, token: str) -> int:
    recibo = {"id_externo": "do-passeio", "estado": "DELIVERED"}
    return httpx.post(f"{pessoa.raiz}/dlr/callback/passeio/{token}", json=recibo).status_code


def test_administracao_nao_apaga_a_historia_nem_mexe_no_superusuario(pessoa: Pessoa) -> None:
    admin = achar(pessoa.servidor, "SELECT id FROM auth_user WHERE username = 'admin'")
    pessoa.entrar("administracao")
    for tabela, chave in (
        ("ingestao_aplicativo", "id"),
        ("ingestao_captura", "id_evento"),
        ("dlr_recepcao", "id"),
    ):
        registro = achar(pessoa.servidor, f"SELECT {chave}::text FROM {tabela} LIMIT 1")
        assert pessoa.status(f"/admin/{tabela.replace('_', '/')}/{registro}/delete/") == 403
    pessoa.pagina.goto(f"{pessoa.raiz}/admin/auth/user/{admin}/change/")
    assert pessoa.pagina.get_by_role("button", name="Salvar", exact=True).count() == 0
