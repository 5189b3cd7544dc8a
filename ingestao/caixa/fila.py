"""Reivindicar, aplicar, apagar: uma transação. O veneno é isolado por metades e estacionado."""

import logging
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, OperationalError, connection, transaction
from django.utils import timezone

from config.banco.cursor import cursor_direto
from config.banco.falhas import descrever, e_do_banco, onde
from ingestao.caixa.modelo import ItemDaCaixa

registro = logging.getLogger("lastro.caixa")

TENTATIVAS_MAXIMAS = 5  # ~10 min de recuos: cobre uma implantação ruim corrigida; depois, uma pessoa
RECUO_INICIAL_S = 5
RECUO_MAXIMO_S = 300
ITENS_NO_COMECO = 64  # itens travados na primeira transação do turno; as seguintes aprendem com ela
ITENS_POR_VEZ = 1_024  # teto de itens travados por transação
# Depois de uma transação pequena, deixar juntar: sob carga leve e constante, aplicar de três em três lotes
# custava ao banco e ao worker o triplo por lote, e essa CPU é a que faltava à porta.
RESPIRO_S = 0.1
TURNO_S = 20  # depois disto a tarefa devolve o worker e pede para ser acordada de novo
CONFLITOS_SEGUIDOS = 5  # impasses e conflitos de serialização repetidos antes de deixar para a varredura
FALHA_MAXIMA_CARACTERES = 4_000

# SKIP LOCKED: dois workers nunca disputam o mesmo item nem esperam um pelo outro.
# A soma corrida corta pelo peso, para a memória não depender do tamanho dos itens; o primeiro
# sempre entra (senão um item maior que o limite ficaria para sempre). O LIMIT trava o que alcança, e o
# que o peso corta fica travado à toa até o COMMIT: por isso ele é ajustado ao peso médio dos itens.
# Índice: <tabela>_pendente.
SQL_REIVINDICAR = """
    WITH candidato AS MATERIALIZED (
        SELECT id, peso FROM {tabela}
        WHERE estacionado_em IS NULL AND (disponivel_em IS NULL OR disponivel_em <= %(agora)s) {filtro}
        ORDER BY id LIMIT %(itens)s FOR UPDATE SKIP LOCKED
    ), corte AS (
        SELECT id, sum(peso) OVER (ORDER BY id) - peso AS antes FROM candidato
    )
    SELECT {colunas} FROM {tabela} JOIN corte USING (id) WHERE antes < %(peso)s ORDER BY id
"""
SQL_APAGAR = "DELETE FROM {tabela} WHERE id = ANY(%(ids)s)"

Item = tuple[Any, ...]  # (id, peso, *colunas da caixa)


@dataclass(slots=True)
class Balanco:
    """O que um turno fez: itens aplicados, adiados (falharam, tentarão de novo) e estacionados.

    `seguimentos` junta o que `aplicar` devolveu: o que deve acontecer depois do COMMIT.
    `restou` diz que o turno acabou pelo relógio, não porque a caixa esvaziou.
    """

    aplicados: int = 0
    adiados: int = 0
    estacionados: int = 0
    restou: bool = False
    seguimentos: list[Any] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caixa:
    """Uma caixa de entrada sobre um modelo de `ItemDaCaixa`.

    - `modelo`: a tabela dos pendentes.
    - `colunas`: o que `aplicar` precisa ler de cada item, além de `id` e `peso`.
    - `aplicar`: recebe os itens (tuplas `id, peso, *colunas`), em ordem de chegada, dentro da
      transação; faz os efeitos e devolve o que deve seguir o COMMIT.
    - `peso_por_vez`: unidades por transação (limita a memória do worker).
    - `tarefa`: nome da tarefa Celery que esvazia esta caixa.
    """

    modelo: type[ItemDaCaixa]
    colunas: tuple[str, ...]
    aplicar: Callable[[Sequence[Item]], Sequence[Any]]
    peso_por_vez: int
    tarefa: str

    @property
    def tabela(self) -> str:
        return self.modelo._meta.db_table

    def esvaziar(self, *, turno_s: float = TURNO_S, respiro_s: float = 0) -> Balanco:
        """Aplica o que estiver pendente até acabar ou o turno vencer; devolve o balanço.

        O que já estava na caixa é aplicado na hora; depois de levar tudo o que havia, espera `respiro_s` antes de
        olhar de novo.

        Levanta `OperationalError`/`InterfaceError` quando o banco falha (nada se perde: os itens
        continuam pendentes e a varredura acorda outro turno).
        """
        balanco = Balanco()
        fim = time.monotonic() + turno_s
        limite, conflitos = ITENS_NO_COMECO, 0
        while True:
            try:
                itens = self._uma_vez(limite, balanco)
            except OperationalError as erro:
                if not _e_conflito_passageiro(erro) or conflitos >= CONFLITOS_SEGUIDOS:
                    raise
                conflitos += 1
                time.sleep(random.uniform(0, 0.05 * 2**conflitos))
                continue
            if not itens:
                return balanco
            conflitos = 0
            peso = sum(item[1] for item in itens)
            levou_tudo = len(itens) < limite and peso < self.peso_por_vez
            peso_medio = peso / len(itens)
            limite = max(1, min(ITENS_POR_VEZ, round(self.peso_por_vez / max(peso_medio, 1))))
            if time.monotonic() >= fim:
                balanco.restou = True
                return balanco
            if levou_tudo and respiro_s:
                time.sleep(respiro_s)

    def _uma_vez(self, limite: int, balanco: Balanco) -> list[Item]:
        """Uma transação da caixa; devolve os itens que saíram da frente (aplicados ou adiados)."""
        itens: list[Item] = []
        try:
            self._aplicar_pendentes(itens, limite, balanco)
        except Exception as erro:  # veneno levanta qualquer coisa; aqui é isolado e registrado
            if e_do_banco(erro) or not itens:
                raise  # o banco, não o item; ou falhou antes de haver item (falta migrar, por exemplo)
            self._isolar([item[0] for item in itens], erro, balanco)
        return itens

    def _aplicar_pendentes(
        self, itens: list[Item], limite: int, balanco: Balanco, *, somente: list[int] | None = None
    ) -> None:
        """Reivindica, aplica e apaga numa transação. `itens` é preenchido antes de aplicar."""
        with transaction.atomic():
            itens.extend(self._reivindicar(limite, somente))
            if not itens:
                return
            seguimentos = self.aplicar(itens)
            with connection.cursor() as cursor:
                cursor.execute(SQL_APAGAR.format(tabela=self.tabela), {"ids": [item[0] for item in itens]})
        balanco.aplicados += len(itens)
        balanco.seguimentos.extend(seguimentos)

    def _reivindicar(self, limite: int, somente: list[int] | None) -> list[Item]:
        sql = SQL_REIVINDICAR.format(
            tabela=self.tabela,
            colunas=", ".join(f"{self.tabela}.{coluna}" for coluna in ("id", "peso", *self.colunas)),
            filtro="AND id = ANY(%(somente)s)" if somente is not None else "",
        )
        parametros = {
            "agora": timezone.now(),
            "itens": limite,
            "peso": self.peso_por_vez,
            "somente": somente,
        }
        # Cursor do psycopg, binário: com o do Django os bytes viriam como texto, em dobro.
        with cursor_direto() as cursor:
            return cursor.execute(sql, parametros, binary=True).fetchall()

    def _isolar(self, ids: list[int], erro: Exception, balanco: Balanco) -> None:
        """Divide ao meio até achar quem falha sozinho; os vizinhos são aplicados no caminho."""
        if len(ids) == 1:
            self._adiar(ids[0], erro, balanco)
            return
        meio = len(ids) // 2
        for metade in (ids[:meio], ids[meio:]):
            try:
                self._aplicar_pendentes([], len(metade), balanco, somente=metade)
            except Exception as erro_da_metade:
                if e_do_banco(erro_da_metade):
                    raise
                self._isolar(metade, erro_da_metade, balanco)

    def _adiar(self, id_do_item: int, erro: Exception, balanco: Balanco) -> None:
        """Conta a tentativa e agenda outra, ou estaciona no teto. O item nunca é apagado."""
        agora = timezone.now()
        texto = descrever(erro).replace("\x00", "\ufffd")[:FALHA_MAXIMA_CARACTERES]
        with transaction.atomic():
            item = (
                self.modelo._default_manager.select_for_update(skip_locked=True)
                .filter(pk=id_do_item, estacionado_em__isnull=True)
                .only("tentativas")
                .first()
            )
            if item is None:
                return
            item.tentativas += 1
            item.falha = texto
            if item.tentativas >= TENTATIVAS_MAXIMAS:
                item.estacionado_em = agora
                balanco.estacionados += 1
            else:
                item.disponivel_em = agora + timedelta(seconds=recuo_s(item.tentativas))
                balanco.adiados += 1
            item.save(update_fields=["tentativas", "falha", "estacionado_em", "disponivel_em"])
        registro.error(
            "item da caixa falhou",
            extra={
                "caixa": self.tabela,
                "item": id_do_item,
                "tentativas": item.tentativas,
                "tipo": type(erro).__name__,
                "onde": onde(erro),
            },
        )

    def reexecutar(self, ids: Sequence[int]) -> int:
        """Devolve itens estacionados à fila, com as tentativas zeradas; devolve quantos voltaram."""
        return self.modelo._default_manager.filter(pk__in=ids, estacionado_em__isnull=False).update(
            estacionado_em=None, disponivel_em=None, tentativas=0
        )


def recuo_s(tentativas: int) -> float:
    """Espera até a próxima tentativa, em segundos: exponencial com teto e metade de acaso."""
    espera: float = min(RECUO_INICIAL_S * 4.0 ** (tentativas - 1), RECUO_MAXIMO_S)
    return espera / 2 + random.uniform(0, espera / 2)


def _e_conflito_passageiro(erro: DatabaseError) -> bool:
    """Impasse (40P01) ou conflito de serialização (40001): repetir resolve."""
    return getattr(erro.__cause__, "sqlstate", None) in {"40P01", "40001"}
