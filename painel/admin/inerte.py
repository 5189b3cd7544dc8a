"""O que sobrevive ao escape do HTML e ainda engana quem lê: controles (ANSI) e direção de texto forçada."""

# Marcas que reordenam o que se vê (RLO e companhia): “gpj.exe” se passaria por “exe.jpg”.
_DIRECAO = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_TROCAS = {
    codigo: f"⟦U+{codigo:04X}⟧"
    for codigo in (*range(0x20), *range(0x7F, 0xA0), *_DIRECAO, 0x2028, 0x2029)
    if chr(codigo) not in "\n\t"
}


def neutralizar(texto: str) -> str:
    """Devolve o texto com controles e marcas de direção trocados por sinais visíveis; nada some."""
    return texto.replace("\r\n", "\n").translate(_TROCAS)
