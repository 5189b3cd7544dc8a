"""O arquivo da fila: abrir, transacionar, e o que fazer quando o disco enche ou o arquivo estraga.

Vários processos podem usar a mesma fila: o SQLite (WAL) cuida da concorrência. O que ele não cobre é trocar
o arquivo inteiro; para isso cada operação segura uma trava compartilhada, e quem põe o arquivo danificado de
lado, a exclusiva. Quem estava com o arquivo velho aberto percebe pelo inode e reabre.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Callable, TypeVar

from . import salvamento
from .erros import ErroDoCliente, FilaCheia, FilaIndisponivel, SemEspaco
from .esquema import SQL_CRIAR, VERSAO

logger = logging.getLogger("lastro_captura")

T = TypeVar("T")
Operacao = Callable[[sqlite3.Connection], T]

PAGINA_BYTES = 4096  # a do SQLite e a do cartão; recortes de 20 KB ocupam cinco
PAGINAS_DE_WAL = 500  # 2 MiB: depois do checkpoint o mesmo espaço é reescrito, e apagar não pede disco novo
RESERVA_BYTES = 4 * 1024 * 1024  # o lastro: um WAL inteiro e folga, solto para poder apagar com o disco cheio
FOLGA_PARA_REFAZER = 4  # só se refaz a reserva com este múltiplo dela livre
PAGINAS_POR_DEVOLUCAO = 1000  # uma transação de até 4 MB: mais que isso incharia o WAL
VEZES_POR_DEVOLUCAO = 10  # 40 MB por pulso: uma hora para devolver uma fila de dois gigabytes
# A seq faz parte da identidade do evento: o arquivo que sucede um danificado numera noutra faixa, e o que se salva
# não encontra a sua ocupada.
SEQS_POR_ARQUIVO = 10**12
PRAZO_DA_VEZ_S = 30.0  # outro processo no meio de uma transação; elas duram milissegundos
CONFERIR_INTEIRO_ATE_BYTES = 32 * 1024 * 1024  # a conferência lê tudo: num cartão, um segundo e meio

_CHEIO = ("database or disk is full",)
_DANIFICADO = ("malformed", "not a database", "unsupported file format", "no such table", "no such column")


class _Trocado(Exception):
    """O arquivo aberto já não é o que está no lugar: outro processo o pôs de lado."""


class Arquivo:
    """Um arquivo SQLite numa pasta. Serve a várias threads; uma operação por vez."""

    def __init__(
        self, pasta: Path, *, espaco_bytes: int, reserva_bytes: int = RESERVA_BYTES, criar: bool = True
    ) -> None:
        """Abre ou cria. Levanta FilaIndisponivel ou SemEspaco. Um arquivo danificado é posto de lado."""
        self.caminho = pasta / "fila.db"
        self._reserva = pasta / "reserva.bin"
        self._reserva_bytes = reserva_bytes
        self._espaco_bytes = espaco_bytes
        self._vez = threading.RLock()
        self._conexao: sqlite3.Connection | None = None
        if not criar and not self.caminho.exists():
            raise FilaIndisponivel(f"Não há fila em {pasta}. Confira a pasta na configuração.")
        try:
            pasta.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._trava = os.open(str(pasta / "fila.trava"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as erro:
            raise FilaIndisponivel(f"Não foi possível abrir a pasta {pasta}: {erro.strerror}.") from erro
        try:
            self._abrir()
        except SemEspaco:  # abrir também escreve um pouco (o índice do WAL)
            if not self._gastar_reserva():
                raise
            self._abrir()
        self.refazer_reserva()

    def executar(self, operacao: Operacao[T], *, essencial: bool = False) -> T:
        """Roda numa transação e devolve o que ela devolveu, já durável (COMMIT com fsync).

        Essencial é o que libera espaço ou registra o que o servidor disse: com o disco cheio, gasta a reserva.
        Levanta SemEspaco ou FilaIndisponivel; então nada do que a operação fez ficou. A operação pode rodar
        mais de uma vez.
        """
        with self._vez:
            try:
                return self._tentar(operacao)
            except SemEspaco:
                if not essencial or not self._gastar_reserva():
                    raise
                return self._tentar(operacao)

    def ler(self, consulta: Operacao[T]) -> T:
        """Roda só consultas, num retrato coerente, sem esperar quem escreve. Levanta FilaIndisponivel."""
        with self._vez:
            return self._tentar(consulta, comeco="BEGIN")

    def paginas_usadas(self, conexao: sqlite3.Connection) -> int:
        """As páginas com conteúdo; as livres dentro do arquivo não contam."""
        (todas,), (livres,) = (
            conexao.execute(f"PRAGMA {nome}").fetchone() for nome in ("page_count", "freelist_count")
        )
        return int(todas) - int(livres)

    def conferir_espaco(self, conexao: sqlite3.Connection) -> None:
        """Dentro da transação: levanta FilaCheia se ela passou do espaço configurado para a fila."""
        if self.paginas_usadas(conexao) * PAGINA_BYTES > self._espaco_bytes:
            raise FilaCheia(
                f"A fila chegou aos {self._espaco_bytes} bytes configurados; a captura não foi gravada. "
                "Confira o link, ou aumente fila_bytes."
            )

    def devolver_espaco(self) -> None:
        """Devolve ao disco páginas livres do arquivo, aos poucos; nada faz se há poucas ou se não dá agora."""
        with self._vez, suppress(sqlite3.Error, FilaIndisponivel), self._travado(fcntl.LOCK_SH):
            conexao = self._conexao
            if conexao is None or self._inode() != self._inode_aberto:
                return
            for _ in range(VEZES_POR_DEVOLUCAO):
                (livres,) = conexao.execute("PRAGMA freelist_count").fetchone()
                # Com a fila ainda cheia, compactar seria mudar de lugar o que logo se apaga.
                if livres < max(PAGINAS_POR_DEVOLUCAO, self.paginas_usadas(conexao)):
                    return
                # `execute` daria um passo só, e este PRAGMA devolve uma página por passo.
                conexao.executescript(f"PRAGMA incremental_vacuum({PAGINAS_POR_DEVOLUCAO})")

    def refazer_reserva(self) -> None:
        """Recria o arquivo de reserva se ele falta e há folga no disco."""
        with suppress(OSError):
            if self._reserva.exists() and self._reserva.stat().st_size >= self._reserva_bytes:
                return
            disco = os.statvfs(str(self.caminho.parent))
            if disco.f_bavail * disco.f_frsize < self._reserva_bytes * FOLGA_PARA_REFAZER:
                return
            with self._reserva.open("wb") as arquivo:
                arquivo.write(b"\0" * self._reserva_bytes)  # zeros de verdade: arquivo esparso não reserva

    def danificados(self) -> list[Path]:
        """Os arquivos postos de lado, do mais antigo ao mais novo."""
        achados = self.caminho.parent.glob("fila.db.danificada-*")
        return sorted(p for p in achados if not p.name.endswith(("-wal", "-shm")))

    def fechar(self) -> None:
        """Fecha o arquivo; operações depois disto levantam FilaIndisponivel."""
        with self._vez:
            if self._conexao is not None:
                self._conexao.close()
                self._conexao = None
                os.close(self._trava)
                self._trava = -1

    # ---- Por dentro

    def _tentar(self, operacao: Operacao[T], *, comeco: str = "BEGIN IMMEDIATE") -> T:
        for _ in range(3):  # arquivo trocado ou posto de lado: reabre e tenta no novo
            try:
                with self._travado(fcntl.LOCK_SH):
                    return self._transacao(operacao, comeco)
            except _Trocado:
                self._abrir()
            except sqlite3.DatabaseError as erro:
                if not _diz(erro, _DANIFICADO):
                    raise _traduzir(erro) from erro
                self._abrir(danificado=self._inode_aberto)
        raise FilaIndisponivel("O arquivo da fila estraga a cada tentativa: confira o disco do dispositivo.")

    def _transacao(self, operacao: Operacao[T], comeco: str) -> T:
        conexao = self._conexao
        if conexao is None:
            raise FilaIndisponivel("A fila já foi fechada.")
        if self._inode() != self._inode_aberto:
            raise _Trocado
        conexao.execute(comeco)
        try:
            resultado = operacao(conexao)
            conexao.execute("COMMIT")
        except BaseException:
            if conexao.in_transaction:  # com o disco cheio o SQLite às vezes já desfez
                with suppress(sqlite3.Error):
                    conexao.execute("ROLLBACK")
            raise
        return resultado

    def _abrir(self, *, danificado: int | None = None) -> None:
        """Abre o que está no lugar. `danificado` é o inode que acabou de falhar: se ainda está lá, sai."""
        with self._travado(fcntl.LOCK_EX):
            if self._conexao is not None:
                with suppress(sqlite3.Error):
                    self._conexao.close()
                self._conexao = None
            try:
                if danificado is not None and danificado == self._inode():
                    self._conexao = self._recomecar("falhou durante o uso")
                else:
                    self._conexao = self._conectar()
            except sqlite3.DatabaseError as erro:
                if not _diz(erro, _DANIFICADO):
                    raise _traduzir(erro) from erro
                try:
                    self._conexao = self._recomecar(str(erro))
                except sqlite3.DatabaseError as outro:
                    raise _traduzir(outro) from outro
            self._inode_aberto = self._inode()

    def _conectar(self) -> sqlite3.Connection:
        """Abre o que está no lugar (ou cria) e traz o que se salva dos arquivos postos de lado."""
        conexao = sqlite3.connect(
            str(self.caminho), timeout=PRAZO_DA_VEZ_S, isolation_level=None, check_same_thread=False
        )
        try:
            postos_de_lado = self.danificados()
            preparar(
                conexao,
                espaco_bytes=self._espaco_bytes + self._reserva_bytes,
                primeira_seq=len(postos_de_lado) * SEQS_POR_ARQUIVO,
            )
            for velho in postos_de_lado:
                salvos = salvamento.salvar_o_legivel(velho, conexao)
                if salvos is not None:
                    logger.error("fila danificada: %d eventos salvos de %s", salvos, velho)
        except BaseException:
            conexao.close()
            raise
        return conexao

    def _recomecar(self, motivo: str) -> sqlite3.Connection:
        """Põe o arquivo de lado e abre um novo."""
        logger.error(
            "fila danificada (%s): posta de lado em %s", motivo, salvamento.por_de_lado(self.caminho)
        )
        return self._conectar()

    @contextmanager
    def _travado(self, modo: int) -> Iterator[None]:
        if self._trava < 0:
            raise FilaIndisponivel("A fila já foi fechada.")
        fcntl.flock(self._trava, modo)
        try:
            yield
        finally:
            fcntl.flock(self._trava, fcntl.LOCK_UN)

    def _inode(self) -> int:
        try:
            return os.stat(str(self.caminho)).st_ino
        except FileNotFoundError:
            return -1

    def _gastar_reserva(self) -> bool:
        try:
            self._reserva.unlink()
        except OSError:
            return False
        logger.warning("disco cheio: a reserva de %d bytes foi solta para apagar", self._reserva_bytes)
        return True


def preparar(conexao: sqlite3.Connection, *, espaco_bytes: int, primeira_seq: int) -> None:
    """Ajusta a conexão e cria as tabelas num arquivo novo. Levanta sqlite3.DatabaseError se está danificado."""
    conexao.execute(f"PRAGMA page_size = {PAGINA_BYTES}")
    conexao.execute("PRAGMA auto_vacuum = INCREMENTAL")  # só vale antes da primeira tabela
    conexao.execute("PRAGMA journal_mode = WAL")
    conexao.execute("PRAGMA synchronous = FULL")  # no WAL, um fsync por COMMIT
    conexao.execute("PRAGMA cache_size = -2000")
    conexao.execute(f"PRAGMA wal_autocheckpoint = {PAGINAS_DE_WAL}")
    conexao.execute(f"PRAGMA journal_size_limit = {2 * PAGINAS_DE_WAL * PAGINA_BYTES}")
    conexao.execute(f"PRAGMA max_page_count = {max(espaco_bytes // PAGINA_BYTES, 64)}")
    (versao,) = conexao.execute("PRAGMA user_version").fetchone()
    if versao > VERSAO:
        raise FilaIndisponivel("A fila é de uma versão mais nova do cliente: atualize o lastro-captura.")
    if versao == 0:
        conexao.executescript(
            f"BEGIN IMMEDIATE; {SQL_CRIAR} INSERT INTO sqlite_sequence VALUES ('evento', {primeira_seq});"
            f"PRAGMA user_version = {VERSAO}; COMMIT;"
        )
        return
    (paginas,) = conexao.execute("PRAGMA page_count").fetchone()
    if paginas * PAGINA_BYTES <= CONFERIR_INTEIRO_ATE_BYTES:
        (parecer,) = conexao.execute("PRAGMA quick_check(1)").fetchone()
        if parecer != "ok":
            raise sqlite3.DatabaseError(f"malformed: {parecer}")


def _diz(erro: sqlite3.Error, frases: tuple[str, ...]) -> bool:
    """O Python 3.9 não dá o código do erro do SQLite; a frase dele é fixa no fonte do SQLite."""
    return any(frase in str(erro) for frase in frases)


def _traduzir(erro: sqlite3.Error) -> ErroDoCliente:
    if _diz(erro, _CHEIO):
        return SemEspaco("O disco (ou a cota da fila) está cheio; nada foi gravado. Libere espaço.")
    if "locked" in str(erro):
        return FilaIndisponivel("Outro processo segura a fila há tempo demais; tente de novo.")
    return FilaIndisponivel(f"A fila não pôde ser lida ou escrita ({erro}). Confira o disco do dispositivo.")
