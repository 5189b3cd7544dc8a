"""O texto de desconhecidos aparece inteiro, visível e inerte. Sem banco."""

import pytest

from painel.admin.texto_alheio import JSON_CARACTERES, escrever_json, ligar, neutralizar, resumir


def test_controles_e_marcas_de_direcao_viram_sinais_visiveis_e_o_resto_fica() -> None:
    assert neutralizar("\x1b[31ma\u202eb\x00c\td\ne\r\nf ção 👩‍💻") == (
        "⟦U+001B⟧[31ma⟦U+202E⟧b⟦U+0000⟧c\td\ne\nf ção 👩‍💻"
    )


def test_resumo_escapa_corta_e_guarda_o_inteiro_na_dica() -> None:
    assert resumir('<b> "x"\n  y', 8) == (
        '<span class="lastro-texto" dir="auto" title="&lt;b&gt; &quot;x&quot;\n  y">&lt;b&gt; &quot;x&quot;…</span>'
    )
    assert resumir("") is None


@pytest.mark.parametrize("url", ["http://a.com", "HTTPS://a.com/x?y=<z>#é"])
def test_endereco_http_vira_link_escapado(url: str) -> None:
    ligado = str(ligar(url))
    assert ligado.startswith("<a href=")
    assert "<z>" not in ligado


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "java\nscript:alert(1)",
        " https://a.com",
        "https:alert(1)",
        "//a.com",
        "data:text/html,x",
        "https://a.com/\u202egpj",
        "https://[",
        "ftp://a.com",
    ],
)
def test_qualquer_outro_endereco_fica_como_texto(url: str) -> None:
    assert ligar(url) == neutralizar(url)


def test_json_grande_e_cortado_e_diz_quanto_ficou_de_fora() -> None:
    texto = escrever_json("x" * (JSON_CARACTERES + 10))
    assert texto.endswith(f"mostrando {JSON_CARACTERES} de {JSON_CARACTERES + 12} caracteres")
