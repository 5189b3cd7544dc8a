"""Ler a `REDIS_URL`: um servidor, ou sentinelas."""

import pytest

from config.valkey import EnderecoInvalido, Sentinelas, endereco_do_broker, ler_sentinelas


def test_url_comum_nao_e_de_sentinelas() -> None:
    assert ler_sentinelas("redis://127.0.0.1:6379/0") is None
    assert endereco_do_broker("redis://127.0.0.1:6379/0") == ("redis://127.0.0.1:6379/0", {})


def test_soquete_vira_o_que_o_celery_entende() -> None:
    assert endereco_do_broker("unix:///tmp/v.sock?db=0") == ("redis+socket:///tmp/v.sock?virtual_host=0", {})


def test_sentinelas_com_e_sem_porta_e_senha_codificada() -> None:
    lidas = ler_sentinelas("sentinel://:se%40nha@a:1,b/principal")
    assert lidas == Sentinelas(onde=(("a", 1), ("b", 26379)), mestre="principal", senha="se@nha")


def test_o_broker_recebe_todas_as_sentinelas_e_o_nome_do_mestre() -> None:
    endereco, opcoes = endereco_do_broker("sentinel://a:1,b:2/principal")
    assert endereco == "sentinel://a:1;sentinel://b:2"
    assert opcoes == {"master_name": "principal"}


def test_a_senha_vai_codificada_para_o_broker() -> None:
    assert endereco_do_broker("sentinel://:se%40nha@a:1/p")[0] == "sentinel://:se%40nha@a:1"


@pytest.mark.parametrize(
    "url", ["sentinel://a:1", "sentinel:///principal", "sentinel://a:x/p", "sentinel://:1/p"]
)
def test_url_incompleta_e_dita(url: str) -> None:
    with pytest.raises(EnderecoInvalido):
        ler_sentinelas(url)
