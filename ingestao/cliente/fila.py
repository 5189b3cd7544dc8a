"""A fila durável: o que `enfileirar` devolveu está em disco, e só sai quando o servidor disse que gravou.

Enfileirar pode qualquer processo; enviar, um por vez (`VagaDeEnvio`). Cada evento tem a sua hora de
tentar de novo, e um que falha não segura os outros: PRONTO → (falhou) ESPERANDO → PRONTO → … → apagado pelo
ACK, ou QUARENTENA com o motivo.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from .arquivo import PAGINA_BYTES, RESERVA_BYTES, Arquivo
from .contadores import (
    MOTIVO_CORROMPIDO,
    MOTIVO_SEM_ESPACO,
    Relato,
    anotar_latencia,
    congelar_relato,
    dar_relato_por_entregue,
    ler_totais,
    somar_descarte,
)
from .erros import FilaIndisponivel
from .esquema import ESPERANDO, PRONTO, QUARENTENA
from .quarentena import Quarentena, por_em_quarentena
from .salvamento import calcular_resumo

SQL_INSERIR = """
    INSERT INTO evento (id_evento, corpo, tamanho_bytes, resumo, capturado_em, boot_id, mono_ms)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""
# Os índices evento_vez (situacao, seq) e evento_espera respondem sem passar pelos que não são a vez.
SQL_PRIMEIRO = "SELECT seq, falhas FROM evento WHERE situacao = 0 ORDER BY seq LIMIT 1"
SQL_DA_VEZ = """
    SELECT seq, tamanho_bytes FROM evento
    WHERE situacao = 0 AND seq >= :seq AND (falhas > 0) = :suspeitos ORDER BY seq LIMIT :limite
"""
SQL_LER = """
    SELECT e.seq, e.id_evento, e.corpo, e.resumo, e.boot_id, e.mono_ms, e.tentativas, e.falhas, r.jpeg
    FROM evento e LEFT JOIN recorte r USING (seq) WHERE e.seq = ?
"""
# Sem o INDEXED BY, o planejador prefere evento_vez e passa por todos os que esperam.
SQL_PROMOVER = (
    "UPDATE evento INDEXED BY evento_espera SET situacao = 0 WHERE situacao = 1 AND nao_antes_ms <= ?"
)
SQL_HA_A_PROMOVER = (
    "SELECT 1 FROM evento INDEXED BY evento_espera WHERE situacao = 1 AND nao_antes_ms <= ? LIMIT 1"
)
SQL_DESPERTAR = "SELECT min(nao_antes_ms) FROM evento INDEXED BY evento_espera WHERE situacao = 1"
SQL_ADIAR = (
    "UPDATE evento SET situacao = 1, falhas = falhas + :falha, nao_antes_ms = :nao_antes WHERE seq = :seq"
)
SQL_MAIS_ANTIGO = """
    SELECT capturado_em, boot_id, mono_ms FROM evento WHERE seq = (
        SELECT min(s) FROM (SELECT min(seq) AS s FROM evento WHERE situacao = 0
            UNION ALL SELECT min(seq) FROM evento WHERE situacao = 1))
"""

RECIBO = "recibo:"  # prefixo da anotação de uma captura que o chamador ainda pode repetir


@dataclass(frozen=True)
class EventoNovo:
    """Um evento por gravar. `corpo` é o JSON do que nunca muda: nem reenvio, nem boot, nem quarentena."""

    id_evento: str
    corpo: str
    recorte: bytes | None
    capturado_em: str
    boot_id: str
    mono_ms: int


@dataclass(frozen=True)
class EventoNaFila:
    """Um evento gravado. `falhas` conta as tentativas do ciclo que o servidor devolveu com erro."""

    seq: int
    id_evento: str
    corpo: str
    boot_id: str
    mono_ms: int
    tentativas: int
    falhas: int
    recorte: bytes | None


@dataclass(frozen=True)
class Medida:
    """O tamanho da fila agora. `mais_antigo` é (capturado_em, boot_id, mono_ms)."""

    prontos: int
    esperando: int
    quarentena: int
    bytes_usados: int
    mais_antigo: tuple[str, str, int] | None


class Fila:
    """A fila de uma pasta. Serve a várias threads."""

    def __init__(
        self, pasta: Path, *, espaco_bytes: int, reserva_bytes: int = RESERVA_BYTES, criar: bool = True
    ) -> None:
        """Abre ou cria; com `criar=False`, levanta FilaIndisponivel se não há fila na pasta."""
        self.arquivo = Arquivo(pasta, espaco_bytes=espaco_bytes, reserva_bytes=reserva_bytes, criar=criar)
        self.quarentena = Quarentena(self.arquivo)
        self._nao_gravados = 0  # capturas recusadas por falta de espaço que nem a contagem coube

    def enfileirar(
        self,
        eventos: Sequence[EventoNovo],
        junto: Callable[[sqlite3.Connection], None] = lambda conexao: None,
        *,
        recibo: str | None = None,
    ) -> bool:
        """Grava todos ou nenhum; ao voltar, estão em disco. `junto` escreve na mesma transação.

        False, sem gravar nada, se o `recibo` já foi usado. Levanta SemEspaco, FilaCheia ou FilaIndisponivel:
        então nenhum foi gravado.
        """

        def gravar(conexao: sqlite3.Connection) -> bool:
            if recibo is not None:
                if _ler_anotacao(conexao, RECIBO + recibo) is not None:
                    return False
                _gravar_anotacao(conexao, RECIBO + recibo, "")
            for evento in eventos:
                _inserir(conexao, evento)
            junto(conexao)
            self.arquivo.conferir_espaco(conexao)
            somar_descarte(conexao, MOTIVO_SEM_ESPACO, self._nao_gravados)
            return True

        gravou = self.arquivo.executar(gravar)
        self._nao_gravados = 0
        return gravou

    def esquecer_recibo(self, recibo: str) -> None:
        """Quem capturou já não vai repetir."""
        self.arquivo.executar(
            lambda c: c.execute("DELETE FROM anotacao WHERE nome = ?", (RECIBO + recibo,)), essencial=True
        )

    def contar_sem_espaco(self, qtd: int) -> None:
        """Conta capturas que não couberam; se nem a contagem couber, ela vai com a próxima gravação."""
        self._nao_gravados += qtd
        pendentes = self._nao_gravados
        try:
            self.arquivo.executar(
                lambda conexao: somar_descarte(conexao, MOTIVO_SEM_ESPACO, pendentes), essencial=True
            )
        except FilaIndisponivel:
            return
        self._nao_gravados = 0

    # ---- O que o remetente faz

    def pegar_lote(
        self, *, max_eventos: Callable[[int], int], max_bytes: int, agora_em: str
    ) -> tuple[list[EventoNaFila], Relato]:
        """Os mais antigos da vez, já com a tentativa somada, e o relato que vai junto; vazio se não há vez.

        Quem já falhou só viaja com quem também falhou: são do mesmo tipo os do primeiro da fila.
        `max_eventos(falhas do primeiro)` diz quantos cabem. A tentativa é gravada antes do envio: morto no meio,
        o próximo número ainda é maior, e o servidor sabe que foi o link.
        """

        def pegar(conexao: sqlite3.Connection) -> tuple[list[EventoNaFila], Relato]:
            primeiro = conexao.execute(SQL_PRIMEIRO).fetchone()
            if primeiro is None:
                return [], Relato(None, {}, ())
            parametros = {
                "seq": primeiro[0],
                "suspeitos": primeiro[1] > 0,
                "limite": max_eventos(primeiro[1]),
            }
            seqs: list[int] = []
            total = 0
            for seq, tamanho in conexao.execute(SQL_DA_VEZ, parametros):
                total += tamanho
                if seqs and total > max_bytes:
                    break
                seqs.append(seq)
            lidos = [_ler(conexao, seq, agora_em) for seq in seqs]
            inteiros = [evento for evento in lidos if evento is not None]
            conexao.executemany(
                "UPDATE evento SET tentativas = tentativas + 1 WHERE seq = ?", [(e.seq,) for e in inteiros]
            )
            return inteiros, congelar_relato(conexao)

        if self.arquivo.ler(lambda c: c.execute(SQL_PRIMEIRO).fetchone()) is None:
            return [], Relato(None, {}, ())  # sem nada na vez, nenhuma escrita
        return self.arquivo.executar(pegar, essencial=True)

    def confirmar(self, recebidos: Iterable[tuple[EventoNaFila, int | None]], relato: Relato) -> None:
        """Apaga os que o servidor gravou e anota a latência (ms, ou None) de cada um; o relato foi entregue."""
        recebidos = list(recebidos)

        def apagar(conexao: sqlite3.Connection) -> None:
            dar_relato_por_entregue(conexao, relato)
            for evento, latencia_ms in recebidos:
                conexao.execute("DELETE FROM evento WHERE seq = ?", (evento.seq,))
                conexao.execute("DELETE FROM recorte WHERE seq = ?", (evento.seq,))
                if latencia_ms is not None:
                    anotar_latencia(conexao, evento.id_evento, latencia_ms)

        self.arquivo.executar(apagar, essencial=True)

    def adiar(self, esperas: Iterable[tuple[int, int]], *, conta_falha: bool) -> None:
        """Cada (seq, instante monotônico em ms) só volta à vez nesse instante."""
        linhas = [{"seq": s, "nao_antes": ms, "falha": int(conta_falha)} for s, ms in esperas]
        self.arquivo.executar(lambda conexao: conexao.executemany(SQL_ADIAR, linhas), essencial=True)

    def por_em_quarentena(self, seq: int, motivo: str, detalhe: str, agora_em: str) -> None:
        """Tira da vez, com o motivo, e conta o descarte."""
        self.arquivo.executar(
            lambda conexao: por_em_quarentena(conexao, seq, motivo, detalhe, agora_em), essencial=True
        )

    def promover(self, agora_ms: int) -> None:
        """Devolve à vez quem já esperou. Só escreve se há alguém."""
        if self.arquivo.ler(lambda c: c.execute(SQL_HA_A_PROMOVER, (agora_ms,)).fetchone()):
            self.arquivo.executar(lambda c: c.execute(SQL_PROMOVER, (agora_ms,)), essencial=True)

    def acertar_boot(self, boot_id: str) -> None:
        """Num boot novo os instantes monotônicos guardados não valem: todos voltam à vez."""

        def acertar(conexao: sqlite3.Connection) -> None:
            if _ler_anotacao(conexao, "boot_id") != boot_id:
                conexao.execute("UPDATE evento SET situacao = 0 WHERE situacao = 1")
                _gravar_anotacao(conexao, "boot_id", boot_id)

        self.arquivo.executar(acertar, essencial=True)

    def proximo_despertar_ms(self) -> int | None:
        """O instante monotônico em que o primeiro dos que esperam volta à vez."""
        (instante,) = self.arquivo.ler(lambda c: c.execute(SQL_DESPERTAR).fetchone())
        return None if instante is None else int(instante)

    def preparar_relato(self) -> Relato:
        """O relato de um contato sem lote (o pulso)."""
        return self.arquivo.executar(congelar_relato, essencial=True)

    def entregar_relato(self, relato: Relato) -> None:
        """O pulso que levou o relato foi respondido com 200."""
        self.arquivo.executar(lambda conexao: dar_relato_por_entregue(conexao, relato), essencial=True)

    # ---- Medidas e anotações

    def medir(self) -> Medida:
        """Conta a fila; num índice, sem ler os eventos."""

        def contar(conexao: sqlite3.Connection) -> Medida:
            por_situacao = dict(
                conexao.execute("SELECT situacao, count(*) FROM evento GROUP BY situacao").fetchall()
            )
            return Medida(
                prontos=por_situacao.get(PRONTO, 0),
                esperando=por_situacao.get(ESPERANDO, 0),
                quarentena=por_situacao.get(QUARENTENA, 0),
                bytes_usados=self.arquivo.paginas_usadas(conexao) * PAGINA_BYTES,
                mais_antigo=conexao.execute(SQL_MAIS_ANTIGO).fetchone(),
            )

        return self.arquivo.ler(contar)

    def esta_vazia(self) -> bool:
        """Se não há nada por enviar; a quarentena não conta."""
        sql = "SELECT NOT EXISTS (SELECT 1 FROM evento WHERE situacao IN (0, 1))"
        return bool(self.arquivo.ler(lambda c: c.execute(sql).fetchone())[0])

    def ler_descartes(self) -> dict[str, int]:
        """Os totais por motivo desde que a fila existe."""
        return self.arquivo.ler(ler_totais)

    def ler_anotacao(self, nome: str) -> str | None:
        """Um valor guardado com a fila."""
        return self.arquivo.ler(lambda conexao: _ler_anotacao(conexao, nome))

    def gravar_anotacao(self, nome: str, valor: str) -> None:
        """Guarda um valor com a fila."""
        self.arquivo.executar(lambda conexao: _gravar_anotacao(conexao, nome, valor), essencial=True)

    def fechar(self) -> None:
        """Fecha o arquivo."""
        self.arquivo.fechar()


def _inserir(conexao: sqlite3.Connection, evento: EventoNovo) -> None:
    tamanho = len(evento.corpo.encode("utf-8")) + len(evento.recorte or b"")
    resumo = calcular_resumo(evento.corpo, evento.recorte)
    seq = conexao.execute(
        SQL_INSERIR,
        (
            evento.id_evento,
            evento.corpo,
            tamanho,
            resumo,
            evento.capturado_em,
            evento.boot_id,
            evento.mono_ms,
        ),
    ).lastrowid
    if evento.recorte is not None:
        conexao.execute("INSERT INTO recorte (seq, jpeg) VALUES (?, ?)", (seq, evento.recorte))


def _ler(conexao: sqlite3.Connection, seq: int, agora_em: str) -> EventoNaFila | None:
    """O evento inteiro; None, e quarentena, se o disco o estragou."""
    seq, id_evento, corpo, resumo, boot_id, mono_ms, tentativas, falhas, jpeg = conexao.execute(
        SQL_LER, (seq,)
    ).fetchone()
    if calcular_resumo(corpo, jpeg) != resumo:
        por_em_quarentena(conexao, seq, MOTIVO_CORROMPIDO, "o disco devolveu outros bytes", agora_em)
        return None
    return EventoNaFila(
        seq=seq, id_evento=id_evento, corpo=corpo, boot_id=boot_id, mono_ms=mono_ms,
        tentativas=tentativas + 1, falhas=falhas, recorte=jpeg,
    )  # fmt: skip


def _ler_anotacao(conexao: sqlite3.Connection, nome: str) -> str | None:
    linha = conexao.execute("SELECT valor FROM anotacao WHERE nome = ?", (nome,)).fetchone()
    return None if linha is None else str(linha[0])


def _gravar_anotacao(conexao: sqlite3.Connection, nome: str, valor: str) -> None:
    conexao.execute(
        "INSERT INTO anotacao (nome, valor) VALUES (?, ?) ON CONFLICT (nome) DO UPDATE SET valor = excluded.valor",
        (nome, valor),
    )
