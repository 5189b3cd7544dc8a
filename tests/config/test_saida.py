"""A saída do supervisor: o terminal que não bloqueia e o registro de tamanho limitado."""

import os
import time
from pathlib import Path

from config.supervisao.saida import Registro, Terminal


def test_saida_que_ninguem_le_nao_bloqueia_e_conta_o_que_faltou() -> None:
    leitura, escrita = os.pipe()
    terminal = Terminal(escrita)
    inicio = time.monotonic()
    for _ in range(200):
        terminal.escrever("x" * 2000)
    assert time.monotonic() - inicio < 2
    while len(os.read(leitura, 65_536)) == 65_536:
        pass
    terminal.escrever("de volta")
    assert b"linhas n\xc3\xa3o couberam nesta sa\xc3\xadda" in os.read(leitura, 65_536)
    os.close(leitura)
    terminal.escrever("sem leitor não é erro")
    os.close(escrita)


def test_registro_gira_e_nao_passa_do_tamanho(tmp_path: Path) -> None:
    registro = Registro(tmp_path / "web.log", max_bytes=1_000)
    for numero in range(200):
        registro.acrescentar(f"linha {numero}".encode())
    registro.fechar()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["web.log", "web.log.1", "web.log.2"]
    assert all(p.stat().st_size <= 1_000 for p in tmp_path.iterdir())
    assert (tmp_path / "web.log").read_text().endswith("linha 199\n")
