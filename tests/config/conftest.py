"""Pastas para servidores embutidos: fora da tmp_path, e uma que ninguém mais atravessa."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.embutido import pastas


@pytest.fixture
def area() -> Iterator[Path]:
    # A tmp_path do pytest é 0700: como root, o usuário do banco não a atravessa (há um teste só para isso).
    pasta = Path(tempfile.mkdtemp(prefix="lastro-t", dir="/tmp")).resolve()
    pasta.chmod(0o755)
    yield pasta
    shutil.rmtree(pasta)


@pytest.fixture
def dados(area: Path) -> Path:
    (area / "dados").mkdir()
    return area / "dados"


@pytest.fixture
def raiz_sistema(area: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    raiz = area / "sistema"
    monkeypatch.setattr(pastas, "RAIZ_SISTEMA", raiz)
    return raiz


@pytest.fixture
def fechada(area: Path) -> Path:
    """Pasta de dados abaixo de uma 0700, como sob /root."""
    (area / "fechada" / "dados").mkdir(parents=True)
    (area / "fechada").chmod(0o700)
    return area / "fechada" / "dados"
