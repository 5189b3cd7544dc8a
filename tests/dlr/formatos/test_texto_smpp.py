"""O texto do apêndice B se lê em qualquer ordem e espaçamento, e nada depois de `text:` é campo."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlr.dominio.estados import Estado
from dlr.formatos.texto_smpp import TextoSmpp, ler_texto

CAMPOS = {
    "id": "00B8BE19",
    "sub": "001",
    "dlvrd": "000",
    "submit date": "2611301200",
    "done date": "2611301201",
    "stat": "UNDELIV",
    "err": "00B",
}
LIDO = TextoSmpp(
    id="00B8BE19",
    sub="001",
    dlvrd="000",
    submit_date="2611301200",
    done_date="2611301201",
    stat="UNDELIV",
    err="00B",
)
VAZIOS = st.text(st.sampled_from(" \t\r\n\x00"), min_size=1, max_size=4)
OPCIONAIS = st.text(st.sampled_from(" \t\n"), max_size=3)


@given(ordem=st.permutations(sorted(CAMPOS)), vaos=st.lists(VAZIOS, min_size=7, max_size=7), folga=OPCIONAIS)
def test_ordem_e_espacos_nao_mudam_a_leitura(ordem: list[str], vaos: list[str], folga: str) -> None:
    texto = "".join(f"{vao}{nome}:{folga}{CAMPOS[nome]}" for nome, vao in zip(ordem, vaos, strict=True))
    assert ler_texto(texto) == LIDO


@given(nomes=st.sets(st.sampled_from(sorted(CAMPOS))))
def test_faltar_um_campo_so_muda_esse_campo(nomes: set[str]) -> None:
    lido = ler_texto(" ".join(f"{nome}:{CAMPOS[nome]}" for nome in sorted(nomes)))
    for nome in CAMPOS:
        atributo = nome.replace(" ", "_")
        assert getattr(lido, atributo) == (getattr(LIDO, atributo) if nome in nomes else None)


PEDACOS = st.sampled_from(
    [" id:B2", " stat:DELIVRD", "err:000", "\n", "\x00", "text:", " Text :", "ÿ", " done date:1"]
)


@given(
    cauda=st.one_of(st.text(), st.lists(PEDACOS).map("".join)),
    colado=st.sampled_from(["", " ", "\n"]),
    rotulo=st.sampled_from(["text:", "Text:", "TEXT :"]),
)
def test_nada_depois_de_text_e_campo(cauda: str, colado: str, rotulo: str) -> None:
    cabeca = " ".join(f"{nome}:{valor}" for nome, valor in CAMPOS.items())
    assert ler_texto(f"{cabeca}{colado}{rotulo}{cauda}") == LIDO


@given(st.text())
def test_nenhum_texto_levanta(bruto: str) -> None:
    ler_texto(bruto)


@pytest.mark.parametrize(
    ("bruto", "esperado"),
    [
        (None, TextoSmpp()),
        ("", TextoSmpp()),
        ("oi, tudo bem?", TextoSmpp()),
        ("id:1 stat:DELIVRD", TextoSmpp(id="1", stat="DELIVRD")),
        ("id: stat: err:5", TextoSmpp(err="5")),
        ("id:1 id:2 stat:DELIVRD", TextoSmpp(id="1", stat="DELIVRD")),
        ("id:1 stat:DELIVRD\x00", TextoSmpp(id="1", stat="DELIVRD")),
        ("id:1 stat:DELIVRD lixo err:0000", TextoSmpp(id="1", stat="DELIVRD", err="0000")),
        ("msgid:9 substat:X id:1 stat:DELIVRD", TextoSmpp(id="1", stat="DELIVRD")),
        (
            "id:1 submit_date:2611301200 stat:DELIVRD",
            TextoSmpp(id="1", submit_date="2611301200", stat="DELIVRD"),
        ),
        ("id:1 done date:2026-11-30 12:00 stat:X", TextoSmpp(id="1", done_date="2026-11-30 12:00", stat="X")),
        ("id:1 done date:261130120000012+ stat:X", TextoSmpp(id="1", done_date="261130120000012+", stat="X")),
        ("id:ab:cd stat:DELIVRD", TextoSmpp(id="ab:cd", stat="DELIVRD")),
    ],
)
def test_casos_que_quebraram_outros_leitores(bruto: str | None, esperado: TextoSmpp) -> None:
    assert ler_texto(bruto) == esperado


def test_numero_no_stat_nao_e_message_state() -> None:
    assert ler_texto("id:1 stat:2").estado is None
    assert ler_texto("id:1 stat:delivrd").estado is Estado.DELIVERED


def test_texto_enorme_e_lido_em_tempo_linear() -> None:
    lido = ler_texto("submit " * 200_000 + "id:1 stat:DELIVRD")
    assert (lido.id, lido.stat) == ("1", "DELIVRD")
