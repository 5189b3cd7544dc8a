"""As folhas de estilo: o que um descuido ao juntar quebra sem que nada reclame."""

import re
from pathlib import Path

import pytest

FOLHAS = sorted((Path(__file__).resolve().parents[2] / "painel" / "static" / "painel").glob("*.css"))


@pytest.mark.parametrize("folha", FOLHAS, ids=lambda folha: folha.name)
def test_toda_chave_se_fecha_onde_deve(folha: Path) -> None:
    """Um `@media` aberto sem fechar engole o resto do arquivo: as telas perdem o estilo, e o navegador não diz nada."""
    texto = re.sub(r"/\*.*?\*/|\"[^\"]*\"", "", folha.read_text("utf-8"), flags=re.S)
    fundura = 0
    for numero, linha in enumerate(texto.splitlines(), start=1):
        fundura += linha.count("{") - linha.count("}")
        # Na coluna zero começa uma regra de fora: nada pode estar aberto antes dela.
        assert 0 <= fundura <= 2, f"{folha.name}:{numero}"
        if linha and not linha[0].isspace() and not linha.startswith("}"):
            assert fundura - linha.count("{") + linha.count("}") == 0, (
                f"{folha.name}:{numero}: algo ficou aberto"
            )
    assert fundura == 0
