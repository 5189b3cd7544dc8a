"""Os sites e os aparelhos dos testes de cada fluxo, aqui juntos."""

from tests.ingestao.capturas.conftest import aparelho, cadastrar
from tests.ingestao.conftest import aplicativo, postar, processar

__all__ = ["aparelho", "aplicativo", "cadastrar", "postar", "processar"]
