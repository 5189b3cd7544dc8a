"""As telas dos avisos: cada botão faz o seu efeito, diz o que aconteceu, e só para quem pode."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from config.cofre import decifrar
from ingestao.models import Aplicativo, Lote
from painel.avisos import entrega, rodada
from painel.models import AtoDeAviso, Aviso, DestinoDeAviso, EntregaDeAviso, LimiarDeAviso
from tests.painel.avisos.conftest import Receptor
from tests.painel.avisos.mundo import regredir
from tests.painel.conftest import HOSTIL, entrar_com, mensagens

pytestmark = pytest.mark.django_db

AVISOS, DESTINOS = "/admin/painel/aviso/", "/admin/painel/destinodeaviso/"
ENTREGAS, LIMIARES = "/admin/painel/entregadeaviso/", "/admin/painel/limiardeaviso/"
FORMULARIO = {
    "nome": "Sala de guerra",
    "canal": "webhook",
    "url": "https://gancho.exemplo.com.br/x",
    "emails": "",
    "tipos": ["fila", "estacionados"],
    "repetir_apos_h": "6",
    "silencio_de": "22:00",
    "silencio_ate": "07:00",
    "fuso": "America/Sao_Paulo",
    "critico_fura": "on",
    "ativo": "on",
}


@pytest.fixture
def aviso(db: None) -> Aviso:
    Lote.objects.create(estacionado_em=timezone.now())
    rodada.rodar(timezone.now())
    return Aviso.objects.get()


def test_lista_mostra_os_abertos_e_quem_viu(painel: Client, aviso: Aviso) -> None:
    assert "A caixa de lotes tem 1 item estacionado" in painel.get(AVISOS).text
    assert "ana" not in painel.get(AVISOS).context["cl"].result_list[0].titulo
    painel.get(f"{AVISOS}{aviso.pk}/change/")
    painel.get(f"{AVISOS}{aviso.pk}/change/")
    assert list(AtoDeAviso.objects.values_list("autor__username", "ato")) == [("ana", "viu")]
    Lote.objects.all().delete()
    rodada.rodar(timezone.now())
    assert painel.get(AVISOS).context["cl"].result_count == 0
    assert painel.get(f"{AVISOS}?situacao=resolvidos").context["cl"].result_count == 1
    assert painel.get(f"{AVISOS}?situacao=todos&tipo=fila").context["cl"].result_count == 0


def test_reconhecer_silenciar_e_voltar_pelos_botoes(painel: Client, aviso: Aviso) -> None:
    ato = f"{AVISOS}{aviso.pk}/ato/"

    def apertar(**campos: str) -> list[str]:
        return mensagens(painel.post(ato, campos, follow=True))

    assert apertar(verbo="reconhecer") == [
        "Reconhecido: os lembretes param. Novidades e o fim ainda são avisados."
    ]
    aviso.refresh_from_db()
    assert aviso.reconhecido_por == User.objects.get(username="ana")
    assert apertar(verbo="silenciar", horas="4") == ["Silenciado: nada sai deste aviso até lá."]
    aviso.refresh_from_db()
    assert aviso.silenciado_ate is not None
    assert timedelta(hours=3, minutes=59) < aviso.silenciado_ate - timezone.now() <= timedelta(hours=4)
    assert "Voltar a avisar" in painel.get(f"{AVISOS}{aviso.pk}/change/").text
    assert apertar(verbo="voltar") == ["Este aviso volta a avisar."]
    aviso.refresh_from_db()
    assert (aviso.silenciado_ate, aviso.reconhecido_em, aviso.reconhecido_por) == (None, None, None)
    atos = list(AtoDeAviso.objects.exclude(ato="viu").values_list("ato", flat=True))
    assert atos == ["reconheceu", "silenciou", "voltou"]
    for ruim in ({"verbo": "apagar"}, {"verbo": "silenciar", "horas": "99999"}, {"verbo": "silenciar"}, {}):
        assert painel.post(ato, ruim).status_code == 400
    assert painel.get(ato).status_code == 405


def test_aviso_resolvido_ou_que_nao_existe_nao_muda(painel: Client, aviso: Aviso) -> None:
    Aviso.objects.update(resolvido_em=timezone.now())
    resposta = painel.post(f"{AVISOS}{aviso.pk}/ato/", {"verbo": "reconhecer"}, follow=True)
    assert mensagens(resposta) == ["Nada mudou: este aviso já se resolveu."]
    assert "Reconhecer" not in resposta.text
    outro = f"{AVISOS}00000000-0000-0000-0000-000000000000/ato/"
    assert painel.post(outro, {"verbo": "reconhecer"}).status_code == 302


def test_quem_so_ve_nao_cuida(aviso: Aviso) -> None:
    cliente = entrar_com("view_aviso")
    assert "Reconhecer" not in cliente.get(f"{AVISOS}{aviso.pk}/change/").text
    assert cliente.post(f"{AVISOS}{aviso.pk}/ato/", {"verbo": "reconhecer"}).status_code == 403
    assert cliente.get(DESTINOS).status_code == 403
    aviso.refresh_from_db()
    assert aviso.reconhecido_em is None


def test_criar_webhook_mostra_o_segredo_uma_vez(painel: Client) -> None:
    resposta = painel.post(f"{DESTINOS}add/", FORMULARIO)
    destino = DestinoDeAviso.objects.get()
    segredo = resposta.context["segredo"]
    assert resposta.status_code == 200 and segredo.startswith("whsec_") and segredo in resposta.text
    assert decifrar(destino.segredo_cifrado) == segredo
    pagina = painel.get(f"{DESTINOS}{destino.pk}/change/").text
    assert segredo not in pagina and destino.segredo_cifrado not in pagina
    lista = painel.get(DESTINOS).text
    assert "gancho.exemplo.com.br" in lista and "/x" not in lista.split("gancho.exemplo.com.br")[1][:5]
    assert painel.post(f"{DESTINOS}{destino.pk}/change/", FORMULARIO | {"nome": "Outro"}).status_code == 302
    destino.refresh_from_db()
    assert (destino.nome, decifrar(destino.segredo_cifrado)) == ("Outro", segredo)


@pytest.mark.parametrize(
    ("mudanca", "campo", "frase"),
    [
        ({"url": "http://127.0.0.1:22/"}, "url", "Porta 22 não"),
        ({"url": "ftp://exemplo.com.br/"}, "url", "Só http ou https"),
        ({"url": "https://a:b@exemplo.com.br/"}, "url", "Sem usuário e senha"),
        ({"canal": "email"}, "emails", "ao menos um e-mail"),
        ({"emails": "nao-e-email"}, "emails", "válido"),
        ({"silencio_ate": ""}, "silencio_ate", "começa e quando acaba"),
        ({"fuso": "Lua/Mare"}, "fuso", "não é um fuso"),
        ({"tipos": []}, "tipos", "Marque ao menos um"),
        ({"repetir_apos_h": "0"}, "repetir_apos_h", "1"),
    ],
)
def test_formulario_recusa_com_a_frase_no_campo(
    painel: Client, mudanca: dict[str, Any], campo: str, frase: str
) -> None:
    resposta = painel.post(f"{DESTINOS}add/", FORMULARIO | mudanca)
    assert frase in str(resposta.context["adminform"].form.errors[campo])
    assert not DestinoDeAviso.objects.exists()


def test_trocar_o_segredo_pede_confirmacao_e_deixa_historia(painel: Client, gancho: DestinoDeAviso) -> None:
    troca = f"{DESTINOS}{gancho.pk}/trocar-segredo/"
    assert "deixa de assinar na hora" in painel.get(troca, follow=True).text
    gancho.refresh_from_db()
    antes = gancho.segredo_cifrado
    resposta = painel.post(troca, follow=False)
    gancho.refresh_from_db()
    assert decifrar(gancho.segredo_cifrado) == resposta.context["segredo"] != decifrar(antes)


def test_enviar_teste_conta_o_que_o_outro_lado_respondeu(
    painel: Client, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    teste = f"{DESTINOS}{gancho.pk}/enviar-teste/"
    assert "POST assinado" in painel.get(teste).text
    assert receptor.recebidos == []
    (frase,) = mensagens(painel.post(teste, follow=True))
    assert frase.startswith("Teste entregue. Respondeu 200 em ")
    receptor.respostas.append((418, {}, HOSTIL.encode()))
    assert mensagens(painel.post(teste, follow=True)) == ["O teste não chegou: Respondeu 418."]
    assert [recebido.json["motivo"] for recebido in receptor.recebidos] == ["teste", "teste"]
    desistida = EntregaDeAviso.objects.get(situacao="desistida")
    pagina = painel.get(f"{ENTREGAS}{desistida.pk}/change/").text
    assert "&lt;script&gt;" in pagina and "<script>alert(1)" not in pagina and "\u202e" not in pagina
    assert "Reenviar" not in pagina  # um teste não se repete: aperta-se o botão de novo


def test_enviar_teste_por_email(painel: Client, correio: DestinoDeAviso, mailoutbox: list[Any]) -> None:
    resposta = painel.post(f"{DESTINOS}{correio.pk}/enviar-teste/", follow=True)
    assert mensagens(resposta) == ["Teste entregue."]
    assert mailoutbox[0].subject == "[Lastro] Teste do destino Plantão"
    assert "Trocar o segredo" not in painel.get(f"{DESTINOS}{correio.pk}/change/").text


def test_acoes_do_destino_sem_permissao_sao_recusadas(gancho: DestinoDeAviso, receptor: Receptor) -> None:
    cliente = entrar_com("view_destinodeaviso")
    for acao in ("enviar-teste", "trocar-segredo"):
        assert cliente.post(f"{DESTINOS}{gancho.pk}/{acao}/").status_code == 403
    assert receptor.recebidos == []


def test_reenviar_pelo_botao_o_que_nao_chegou(
    painel: Client, aviso: Aviso, gancho: DestinoDeAviso, receptor: Receptor
) -> None:
    rodada.rodar(timezone.now())
    EntregaDeAviso.objects.update(situacao="desistida", tentativas=12, encerramento="Respondeu 500.")
    saida = EntregaDeAviso.objects.get()
    pagina = painel.get(f"{ENTREGAS}{saida.pk}/change/")
    assert "Reenviar" in pagina.text and "Respondeu 500." in pagina.text
    assert entrar_com("view_entregadeaviso").post(f"{ENTREGAS}{saida.pk}/reenvio/").status_code == 403
    (frase,) = mensagens(painel.post(f"{ENTREGAS}{saida.pk}/reenvio/", follow=True))
    assert frase.startswith("De volta à fila")
    assert entrega.enviar_pendentes(timezone.now()) == 1
    (frase,) = mensagens(painel.post(f"{ENTREGAS}{saida.pk}/reenvio/", follow=True))
    assert frase.startswith("Nada mudou")
    assert len(receptor.recebidos) == 1


def test_texto_hostil_aparece_inerte_em_todas_as_telas(
    painel: Client, loja: Aplicativo, correio: DestinoDeAviso
) -> None:
    Aplicativo.objects.update(nome=HOSTIL[:120])
    regredir(loja, 1, titulo=HOSTIL)
    rodada.rodar(timezone.now())
    aviso, saida = Aviso.objects.get(), EntregaDeAviso.objects.get()
    for endereco in (AVISOS, f"{AVISOS}{aviso.pk}/change/", ENTREGAS, f"{ENTREGAS}{saida.pk}/change/"):
        texto = painel.get(endereco).text
        assert "&lt;script&gt;" in texto, endereco
        assert "<script>alert(1)" not in texto and "\x1b" not in texto and "<img src=x" not in texto, endereco


def test_limiares_so_de_excecoes_tem_integracao_e_a_tela_diz_os_padroes(painel: Client) -> None:
    assert "10 por integração e tipo" in painel.get(LIMIARES).text
    ruim = {"tipo": "fila", "excecao": "conflito_final", "integracao": "", "valor": "5"}
    assert "só valem para" in str(painel.post(f"{LIMIARES}add/", ruim).context["adminform"].form.errors)
    assert painel.post(f"{LIMIARES}add/", ruim | {"tipo": "excecoes"}).status_code == 302
    assert painel.post(f"{LIMIARES}add/", ruim | {"tipo": "excecoes"}).status_code == 200  # já existe
    assert LimiarDeAviso.objects.get().excecao == "conflito_final"
    assert "Finais em conflito" in painel.get(LIMIARES).text


def test_listas_custam_as_mesmas_consultas_com_uma_ou_trinta_linhas(
    painel: Client, correio: DestinoDeAviso, loja: Aplicativo
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    def custo(endereco: str) -> int:
        with CaptureQueriesContext(connection) as consultas:
            painel.get(endereco)
        return len(consultas)

    def criar(n: int) -> None:
        agora = timezone.now()
        aviso = Aviso.objects.create(
            tipo="fila", alvo=str(n), titulo="t", aberto_em=agora, visto_em=agora, novidade_em=agora
        )
        AtoDeAviso.objects.create(aviso=aviso, autor=User.objects.get(username="ana"), ato="viu")
        EntregaDeAviso.objects.create(
            aviso=aviso,
            destino=correio,
            canal="email",
            motivo="abriu",
            conteudo={"titulo": "t"},
            criada_em=agora,
            fixada_em=agora,
            disponivel_em=agora,
        )

    criar(0)
    antes = {endereco: custo(endereco) for endereco in (AVISOS, ENTREGAS)}
    for n in range(1, 30):
        criar(n)
    assert {endereco: custo(endereco) for endereco in (AVISOS, ENTREGAS)} == antes


def test_tarefa_do_beat_existe_e_faz_a_rodada(
    correio: DestinoDeAviso, mailoutbox: list[Any], settings: Any
) -> None:
    from painel import tasks

    agendada = settings.CELERY_BEAT_SCHEDULE["avisar"]
    assert (agendada["task"], agendada["schedule"]) == (tasks.avisar.name, 60.0)
    assert tasks.avisar.name == settings.TAREFA_DE_AVISOS
    Lote.objects.create(estacionado_em=timezone.now())
    tasks.avisar()
    assert len(mailoutbox) == 1
