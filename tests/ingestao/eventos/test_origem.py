"""De onde vem o lote, e quem pode usar a chave."""

import pytest

from ingestao.eventos.origem import PadraoInvalido, conferir_padrao, ler_origem, origem_autorizada


@pytest.mark.parametrize(
    ("origin", "referer", "lida"),
    [
        ("https://exemplo.com.br", None, "exemplo.com.br"),
        ("https://exemplo.com.br:8443", None, "exemplo.com.br:8443"),
        ("https://EXEMPLO.com.br.", None, "exemplo.com.br"),
        ("https://EXEMPLO.com.br.:8443", None, "exemplo.com.br:8443"),
        (None, "https://exemplo.com.br/pagina?x=1#y", "exemplo.com.br"),
        ("https://a.com", "https://b.com/", "a.com"),
        ("https://CAFÉ.com", None, "xn--caf-dma.com"),
        ("http://[::1]:3000", None, "[::1]:3000"),
        ("http://127.0.0.1:9", None, "127.0.0.1:9"),
        ("capacitor://localhost", None, "localhost"),
        ("exemplo.com.br", None, "exemplo.com.br"),
        ("null", None, None),
        ("null", "https://exemplo.com.br/", None),
        ("", "https://exemplo.com.br/", None),
        (None, None, None),
        ("https://", None, None),
        ("http://[::1", None, None),
        ("https://exemplo.com.br:porta", None, None),
        ("https://exem plo.com.br", None, None),
        ("https://" + "a" * 300 + ".com", None, None),
    ],
)
def test_origem_e_lida_sem_protocolo_caminho_e_ponto_final(
    origin: str | None, referer: str | None, lida: str | None
) -> None:
    assert ler_origem(origin, referer) == lida


@pytest.mark.parametrize(
    ("origem", "padroes", "passa"),
    [
        ("exemplo.com.br", ["exemplo.com.br"], True),
        ("exemplo.com.br:8443", ["exemplo.com.br"], True),
        ("exemplo.com.br", ["exemplo.com.br:8443"], True),
        ("exemplo.com.br:1", ["exemplo.com.br:8443"], True),
        ("www.exemplo.com.br", ["exemplo.com.br"], False),
        ("a.b.exemplo.com.br", ["*.exemplo.com.br"], True),
        ("a.exemplo.com.br:3000", ["*.exemplo.com.br"], True),
        ("malexemplo.com.br", ["*.exemplo.com.br"], False),
        ("exemplo.com.br", ["*.exemplo.com.br"], False),
        ("exemplo.com.br.mal.com", ["exemplo.com.br", "*.exemplo.com.br"], False),
        ("[::1]:3000", ["[::1]"], True),
        ("x.com", [], False),
    ],
)
def test_origem_passa_por_dominio_porta_ignorada_ou_curinga(
    origem: str, padroes: list[str], passa: bool
) -> None:
    assert origem_autorizada(origem, tuple(padroes)) is passa


@pytest.mark.parametrize(
    ("escrito", "guardado"),
    [
        ("Exemplo.COM.br", "exemplo.com.br"),
        (" exemplo.com.br. ", "exemplo.com.br"),
        ("exemplo.com.br:8443", "exemplo.com.br:8443"),
        ("*.Exemplo.com.br", "*.exemplo.com.br"),
        ("localhost:3000", "localhost:3000"),
        ("[::1]:3000", "[::1]:3000"),
        ("café.com", "xn--caf-dma.com"),
    ],
)
def test_padrao_e_guardado_na_forma_em_que_e_comparado(escrito: str, guardado: str) -> None:
    assert conferir_padrao(escrito) == guardado


@pytest.mark.parametrize(
    "padrao",
    [
        "",
        " ",
        "*exemplo*",
        "*",
        "*.",
        "*.com",
        "http://",
        "https://exemplo.com.br",
        "exemplo.com.br/x",
        "a b.com",
        "exemplo.*.br",
        "*.exemplo.com.br:80",
        "exemplo.com:porta",
        "exemplo.com:",
        "u@exemplo.com",
        "-a.com",
        "a..com",
    ],
)
def test_padrao_ruim_e_recusado_com_frase_clara(padrao: str) -> None:
    with pytest.raises(PadraoInvalido) as recusa:
        conferir_padrao(padrao)
    assert len(str(recusa.value)) > 20
