"""Os quadros inteiros: ficam no dispositivo por uma janela, à espera de uma contestação.

Cedem o lugar aos eventos: acima da cota, ou com pouco disco, sai o mais velho, e quem pedir um que já saiu
fica sabendo por quê. O arquivo não leva fsync (a garantia é dos eventos); o SHA-256 é conferido antes de subir.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from .arquivo import Arquivo
from .erros import SemEspaco
from .relogio import Relogio, formatar_hora, ler_hora

logger = logging.getLogger("lastro_captura")

GUARDADO = "guardado"
EXPIRADO, NUNCA_GUARDADO, DESPEJADO, ILEGIVEL = (  # os motivos de "indisponível" do protocolo
    "expirado", "nunca_guardado", "despejado_por_espaco", "ilegivel",
)  # fmt: skip
MAX_LEMBRADOS = 200_000  # quadros que já saíram, para ainda saber dizer por quê; uns 30 MB de índice
POR_VEZ = 50

Linha = tuple[int, str, int, str, str, int]  # numero, sha256, bytes, guardado_em, boot_id, mono_ms

SQL_ANOTAR = """
    INSERT INTO quadro (sha256, bytes, guardado_em, boot_id, mono_ms, situacao)
    VALUES (:sha256, :bytes, :agora, :boot_id, :mono_ms, :situacao)
    ON CONFLICT (sha256) DO UPDATE SET guardado_em = :agora, boot_id = :boot_id, mono_ms = :mono_ms,
        situacao = :situacao
"""
SQL_LIGAR = """
    INSERT OR IGNORE INTO quadro_de (id_evento, numero)
    SELECT ?, numero FROM quadro WHERE sha256 = ?
"""
SQL_MAIS_VELHOS = """
    SELECT numero, sha256, bytes, guardado_em, boot_id, mono_ms
    FROM quadro WHERE situacao = 'guardado' ORDER BY numero LIMIT ?
"""
SQL_MEDIR = "SELECT count(*), coalesce(sum(bytes), 0) FROM quadro WHERE situacao = 'guardado'"
SQL_ACHAR = """
    SELECT q.sha256, q.situacao FROM quadro_de d JOIN quadro q USING (numero) WHERE d.id_evento = ?
"""
SQL_ESQUECER = """
    DELETE FROM quadro WHERE situacao <> 'guardado' AND numero < (SELECT max(numero) FROM quadro) - ?
"""


@dataclass(frozen=True)
class Guarda:
    """As regras: por quanto tempo, até quantos bytes, e quanto disco deixar livre."""

    janela_s: float
    cota_bytes: int
    disco_livre_minimo_bytes: int


class Quadros:
    """A pasta dos quadros e o índice deles, que mora no arquivo da fila."""

    def __init__(self, pasta: Path, arquivo: Arquivo, relogio: Relogio, guarda: Guarda) -> None:
        self._pasta = pasta / "quadros"
        self._arquivo = arquivo
        self._relogio = relogio
        self._guarda = guarda
        self._pasta.mkdir(parents=True, exist_ok=True, mode=0o700)

    def guardar(self, conteudo: bytes, sha256: str) -> bool:
        """Escreve o quadro, despejando os mais velhos se preciso; False se nem assim coube."""
        if not self._abrir_espaco(len(conteudo)):
            return False
        destino = self._caminho(sha256)
        provisorio = destino.with_suffix(f".{os.getpid()}.novo")
        for tentativa in (1, 2):
            try:
                provisorio.write_bytes(conteudo)
                provisorio.replace(destino)
                return True
            except OSError as erro:
                with suppress(OSError):
                    provisorio.unlink()
                if tentativa == 2 or not self.despejar(len(conteudo)):
                    logger.warning("quadro não guardado: %s", erro)
        return False

    def anotar(
        self, conexao: sqlite3.Connection, sha256: str, tamanho: int, ids: Sequence[str], ok: bool
    ) -> None:
        """Liga os eventos ao quadro, na transação que os enfileira. `ok` é o que `guardar` devolveu."""
        parametros = {
            "sha256": sha256,
            "bytes": tamanho,
            "agora": formatar_hora(self._relogio.agora()),
            "boot_id": self._relogio.boot_id,
            "mono_ms": self._relogio.mono_ms(),
            "situacao": GUARDADO if ok else DESPEJADO,
        }
        conexao.execute(SQL_ANOTAR, parametros)
        conexao.executemany(SQL_LIGAR, [(id_evento, sha256) for id_evento in ids])

    def calcular_expira_em(self) -> datetime:
        """Até quando um quadro guardado agora fica, se houver espaço."""
        return self._relogio.agora() + timedelta(seconds=self._guarda.janela_s)

    def achar(self, id_evento: str, sha256: str | None) -> Path | str:
        """O arquivo do quadro, conferido contra o SHA-256 pedido; ou o motivo de não haver."""
        linha = self._arquivo.ler(lambda c: c.execute(SQL_ACHAR, (id_evento,)).fetchone())
        if linha is None:
            return NUNCA_GUARDADO
        guardado_sha256, situacao = linha
        if situacao != GUARDADO:
            return str(situacao)
        caminho = self._caminho(guardado_sha256)
        try:
            visto = calcular_sha256(caminho)
        except OSError:
            return ILEGIVEL
        return caminho if visto == guardado_sha256 == (sha256 or visto) else ILEGIVEL

    def expurgar(self) -> None:
        """Apaga os vencidos, o que passa da cota, e esquece os que saíram há muito tempo."""
        while vencidos := [linha for linha in self._mais_velhos() if self._venceu(*linha[3:])]:
            self._tirar(vencidos, EXPIRADO)
        self._abrir_espaco(0)

        def esquecer(conexao: sqlite3.Connection) -> None:
            if conexao.execute(SQL_ESQUECER, (MAX_LEMBRADOS,)).rowcount:
                conexao.execute("DELETE FROM quadro_de WHERE numero NOT IN (SELECT numero FROM quadro)")

        self._arquivo.executar(esquecer, essencial=True)

    def varrer_orfaos(self) -> int:
        """Apaga os arquivos que ficaram sem índice (morte entre um e outro); devolve quantos."""
        sql = "SELECT 1 FROM quadro WHERE sha256 = ? AND situacao = 'guardado'"
        apagados = 0
        for caminho in self._pasta.iterdir():
            # Um arquivo de agora pode ser de outro processo, a um passo de anotá-lo.
            recente = caminho.stat().st_mtime > self._relogio.agora().timestamp() - 3600
            nome = caminho.stem
            if not recente and self._arquivo.ler(lambda c, n=nome: c.execute(sql, (n,)).fetchone()) is None:  # type: ignore[misc]
                caminho.unlink()
                apagados += 1
        return apagados

    def despejar(self, precisa_bytes: int) -> int:
        """Tira os mais velhos até somar o que se precisa; devolve os bytes liberados."""
        liberados = 0
        while liberados < precisa_bytes and (velhos := self._mais_velhos()):
            escolhidos = []
            for linha in velhos:
                escolhidos.append(linha)
                liberados += linha[2]
                if liberados >= precisa_bytes:
                    break
            self._tirar(escolhidos, DESPEJADO)
        if liberados:
            logger.warning("despejados %d bytes de quadros antes da hora, por espaço", liberados)
        return liberados

    def medir(self) -> tuple[int, int]:
        """Quantos quadros há e quantos bytes somam."""
        qtd, total = self._arquivo.ler(lambda c: c.execute(SQL_MEDIR).fetchone())
        return int(qtd), int(total)

    def disco_livre_bytes(self) -> int:
        """O que sobra no disco da pasta para quem não é root."""
        disco = os.statvfs(str(self._pasta))
        return disco.f_bavail * disco.f_frsize

    # ---- Por dentro

    def _abrir_espaco(self, chega_bytes: int) -> bool:
        """Despeja o que for preciso para caberem mais `chega_bytes`; False se não couberem nunca."""
        if chega_bytes > self._guarda.cota_bytes:
            return False
        acima_da_cota = self.medir()[1] + chega_bytes - self._guarda.cota_bytes
        falta_no_disco = self._guarda.disco_livre_minimo_bytes + chega_bytes - self.disco_livre_bytes()
        precisa = max(acima_da_cota, falta_no_disco)
        return precisa <= 0 or self.despejar(precisa) >= precisa

    def _mais_velhos(self) -> list[Linha]:
        return self._arquivo.ler(lambda c: c.execute(SQL_MAIS_VELHOS, (POR_VEZ,)).fetchall())

    def _venceu(self, guardado_em: str, boot_id: str, mono_ms: int) -> bool:
        """Pelo monotônico no mesmo boot; depois de um boot, pela parede (atrás da captura não vence)."""
        if boot_id == self._relogio.boot_id:
            return (self._relogio.mono_ms() - mono_ms) / 1000 > self._guarda.janela_s
        guardado = ler_hora(guardado_em)
        passou = self._relogio.agora() - guardado if guardado else timedelta()
        return passou.total_seconds() > self._guarda.janela_s

    def _tirar(self, linhas: Sequence[Linha], situacao: str) -> None:
        """Anota a saída antes de apagar: morto no meio, sobra um arquivo, nunca uma promessa vazia.

        Com o disco tão cheio que nem a nota cabe, é o contrário: apagar é o que abre lugar para ela.
        """
        try:
            self._anotar_saida(linhas, situacao)
        except SemEspaco:
            self._apagar(linhas)
            self._anotar_saida(linhas, situacao)
        self._apagar(linhas)

    def _anotar_saida(self, linhas: Sequence[Linha], situacao: str) -> None:
        sql = "UPDATE quadro SET situacao = ? WHERE numero = ?"
        self._arquivo.executar(
            lambda c: c.executemany(sql, [(situacao, linha[0]) for linha in linhas]), essencial=True
        )

    def _apagar(self, linhas: Sequence[Linha]) -> None:
        for linha in linhas:
            with suppress(OSError):
                self._caminho(linha[1]).unlink()

    def _caminho(self, sha256: str) -> Path:
        return self._pasta / f"{sha256}.jpg"


def calcular_sha256(caminho: Path) -> str:
    """O SHA-256 de um arquivo, em hexadecimal, lendo aos pedaços."""
    resumo = hashlib.sha256()
    with caminho.open("rb") as arquivo:
        while pedaco := arquivo.read(256 * 1024):
            resumo.update(pedaco)
    return resumo.hexdigest()
