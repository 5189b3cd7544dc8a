"""Para onde vai o que os serviços escrevem: o terminal e um registro por serviço, de tamanho limitado."""

import os
import select
import time
from pathlib import Path

MAX_REGISTRO_BYTES = 5 * 1024 * 1024  # dias de avisos; um laço de erros não enche o disco
QTD_ANTIGOS = 2
MAX_ESCRITA_BYTES = 4096  # PIPE_BUF no Linux: escrita até este tamanho em pipe com espaço não bloqueia


class Registro:
    """Arquivo a que se acrescentam linhas; ao passar do limite vira `.1`, e o `.1` vira `.2`."""

    def __init__(self, arquivo: Path, max_bytes: int = MAX_REGISTRO_BYTES) -> None:
        self._arquivo = arquivo
        self._max_bytes = max_bytes
        self._aberto = arquivo.open("ab", buffering=0)
        self._bytes = arquivo.stat().st_size

    def acrescentar(self, linha: bytes) -> None:
        """Escreve a linha com o instante UTC. Disco cheio não derruba quem supervisiona."""
        texto = time.strftime("%Y-%m-%dT%H:%M:%SZ ", time.gmtime()).encode("ascii") + linha + b"\n"
        if self._bytes + len(texto) > self._max_bytes:
            self._girar()
        try:
            self._bytes += self._aberto.write(texto) or 0
        except OSError:
            return

    def fechar(self) -> None:
        self._aberto.close()

    def _girar(self) -> None:
        self._aberto.close()
        for numero in range(QTD_ANTIGOS, 0, -1):
            anterior = self._nomear(numero - 1)
            if anterior.exists():
                anterior.replace(self._nomear(numero))
        self._aberto = self._arquivo.open("ab", buffering=0)
        self._bytes = 0

    def _nomear(self, numero: int) -> Path:
        return self._arquivo.with_name(f"{self._arquivo.name}.{numero}") if numero else self._arquivo


class Terminal:
    """Saída que nunca bloqueia: linha que não cabe é contada e dita depois (ela está no registro).

    Quem lança `local` com a saída num pipe e não o lê pararia os serviços todos quando ele enchesse.
    """

    def __init__(self, descritor: int) -> None:
        self._descritor = descritor
        self._qtd_perdidas = 0

    def escrever(self, linha: str) -> None:
        """Escreve a linha, ou a conta como perdida; saída fechada não é erro."""
        if self._qtd_perdidas:
            aviso = f"[local] {self._qtd_perdidas} linhas não couberam nesta saída; estão nos registros"
            if self._tentar(aviso):
                self._qtd_perdidas = 0
        if not self._tentar(linha):
            self._qtd_perdidas += 1

    def _tentar(self, linha: str) -> bool:
        bruto = linha.encode("utf-8", "replace")[: MAX_ESCRITA_BYTES - 1] + b"\n"
        try:
            if not select.select([], [self._descritor], [], 0)[1]:
                return False
            os.write(self._descritor, bruto)
        except OSError:
            return False  # terminal fechado ou leitor que foi embora
        return True
