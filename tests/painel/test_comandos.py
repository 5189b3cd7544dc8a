"""Os comandos que outros programas chamam: uma linha JSON, nada mais."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import authenticate, get_user_model
from django.core.management import CommandError, call_command
from django.utils import timezone

from config import ambiente
from dlr.models import Excecao, Integracao, RecepcaoPendente
from ingestao.models import Aplicativo, Lote


def rodar(*args: str, **opcoes: Any) -> Any:
    saida = StringIO()
    call_command(*args, stdout=saida, **opcoes)
    (linha,) = saida.getvalue().splitlines()
    return json.loads(linha)


def test_criar_aplicativo_imprime_id_e_chave(db: None) -> None:
    impresso = rodar(
        "criar_aplicativo", "--nome", "Loja", "--dominio", "Loja.com.br", "--dominio", "*.loja.com.br"
    )
    aplicativo = Aplicativo.objects.get()
    assert impresso == {"id": str(aplicativo.id), "chave": aplicativo.chave}
    assert impresso["chave"].startswith("pk_live_")
    assert aplicativo.dominios == ["loja.com.br", "*.loja.com.br"]


def test_criar_aplicativo_com_franquia_politica_e_chave(db: None) -> None:
    argumentos = (
        "--nome L --dominio l.com --franquia 10 --politica PARAR_INGESTAO --chave pk_live_minha".split()
    )
    assert rodar("criar_aplicativo", *argumentos)["chave"] == "pk_live_minha"
    aplicativo = Aplicativo.objects.get()
    assert (aplicativo.franquia, aplicativo.politica) == (10, "PARAR_INGESTAO")


@pytest.mark.parametrize(
    ("argumentos", "frase"),
    [
        ("--nome L --dominio *l*", "curinga"),
        ("--nome L --dominio http://l.com", "sem protocolo"),
        ("--nome L --dominio l.com --chave sk_x", "pk_"),
        ("--nome L --dominio l.com --franquia 0", "franquia"),
        ("--nome L --dominio l.com --politica OUTRA", "OUTRA"),
    ],
)
def test_criar_aplicativo_com_valor_ruim_diz_o_que_ha(db: None, argumentos: str, frase: str) -> None:
    with pytest.raises(CommandError, match=frase.replace("*", r"\*")):
        rodar("criar_aplicativo", *argumentos.split())
    assert not Aplicativo.objects.exists()


def test_chave_repetida_e_recusada_com_frase(db: None) -> None:
    rodar("criar_aplicativo", "--nome", "A", "--dominio", "a.com", "--chave", "pk_live_x")
    with pytest.raises(CommandError, match="chave"):
        rodar("criar_aplicativo", "--nome", "B", "--dominio", "b.com", "--chave", "pk_live_x")


def test_situacao_conta_filas_linhas_e_workers(db: None) -> None:
    Aplicativo.objects.create(nome="x", dominios=["x.com"])
    Lote.objects.create(conteudo=b"{}")
    situacao = rodar("situacao")
    assert situacao["filas"]["lotes"]["profundidade"] == 1
    assert situacao["filas"]["lotes"]["estacionados"] == 0
    assert situacao["filas"]["lotes"]["mais_antigo_s"] >= 0
    assert situacao["filas"]["recepcoes"]["profundidade"] == 0
    assert situacao["linhas"] == {
        "aplicativos": 1,
        "sessoes": 0,
        "eventos": 0,
        "erros": 0,
        "dispositivos": 0,
        "capturas": 0,
        "mensagens": 0,
        "recepcoes": 0,
        "eventos_logicos": 0,
    }
    assert situacao["capturas"] == {"dispositivos": 0, "silenciosos": 0, "pedidos_abertos": 0}
    assert situacao["excecoes_abertas"] == {}
    assert situacao["workers_vivos"] == 0


def test_situacao_conta_recepcoes_na_caixa_e_excecoes_abertas_por_tipo(db: None) -> None:
    integracao = Integracao.objects.create(slug="op", formato="padrao", token_resumo="x")
    RecepcaoPendente.objects.create(recepcao_id=1)
    RecepcaoPendente.objects.create(recepcao_id=2, estacionado_em=timezone.now())
    for n, (tipo, aberta) in enumerate(
        [
            ("sem_correlacao", True),
            ("sem_correlacao", True),
            ("conflito_final", True),
            ("recibo_parcial", False),
        ]
    ):
        Excecao.objects.create(
            integracao=integracao,
            tipo=tipo,
            alvo=f"a:{n}",
            situacao="aberta" if aberta else "descartada",
            aberta_em=timezone.now(),
        )
    situacao = rodar("situacao")
    assert situacao["filas"]["recepcoes"]["profundidade"] == 1
    assert situacao["filas"]["recepcoes"]["estacionados"] == 1
    assert situacao["excecoes_abertas"] == {"conflito_final": 1, "sem_correlacao": 2}


def test_primeira_execucao_cria_uma_vez_e_guarda_a_senha(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ambiente, "DADOS", tmp_path)
    for _ in range(2):
        call_command("primeira_execucao", stdout=StringIO())
    arquivo = tmp_path / "senha-admin.txt"
    assert arquivo.stat().st_mode & 0o777 == 0o600
    assert (
        authenticate(username="admin", password=arquivo.read_text().strip()) == get_user_model().objects.get()
    )
    assert Aplicativo.objects.get().chave == "pk_live_demonstracao"


def test_demonstracao_excluida_nao_volta(db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ambiente, "DADOS", tmp_path)
    call_command("primeira_execucao", stdout=StringIO())
    Aplicativo.objects.update(deletado=True)
    call_command("primeira_execucao", stdout=StringIO())
    assert Aplicativo.objects.count() == 1
