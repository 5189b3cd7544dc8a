"""A configuração recusa o que quebraria as leis em produção."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import ambiente


@pytest.mark.parametrize("segredo", ["", "curto"])
def test_producao_sem_segredo_ou_com_segredo_curto_nao_comeca(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object, segredo: str
) -> None:
    monkeypatch.setattr(ambiente, "DADOS", tmp_path)
    monkeypatch.setenv("LASTRO_SEGREDO", segredo)
    monkeypatch.setenv("DATABASE_URL", "postgresql://x")
    with pytest.raises(ImproperlyConfigured, match="LASTRO_SEGREDO"):
        ambiente.segredo()


def test_hospedeiro_curinga_e_recusado(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LASTRO_HOSPEDEIROS", "lastro.exemplo.com.br,*")
    with pytest.raises(ImproperlyConfigured, match="LASTRO_HOSPEDEIROS"):
        ambiente.hospedeiros()


def test_producao_atende_so_os_nomes_listados(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ambiente, "MODO_LOCAL", False)
    monkeypatch.setenv("LASTRO_HOSPEDEIROS", "lastro.exemplo.com.br")
    assert ambiente.hospedeiros() == ["lastro.exemplo.com.br"]
