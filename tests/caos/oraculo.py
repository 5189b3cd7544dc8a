"""O que cada resposta prometeu. Nada aqui olha o banco: quem compara é `conferencia.py`.

As promessas, e o que não se promete:
- 202: cada evento válido do lote estará gravado exatamente uma vez, na sua sessão e no seu aplicativo.
- 202 com recusas, ou 4xx: a recusa está contada com o seu motivo. Cada requisição que chegou a ser mandada
  inteira pode ter sido contada, mesmo que a resposta se tenha perdido: por isso a contagem fica entre as
  respostas recebidas e as requisições mandadas.
- 503 ou resposta nenhuma: nada. O evento pode estar ou não (o COMMIT pode ter saído e a resposta não);
  reenviado, continua valendo uma vez só.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field

from ingestao.capturas.medidas import achar_faixa, calcular_percentil
from tests.caos.envio import Resposta
from tests.caos.livro import Livro
from tests.caos.lotes import Lote

CODIGOS_503 = {"armazenamento_indisponivel", "fila_cheia", "porta_cheia"}
RECUSA_PELA_FRANQUIA = (402, "franquia_estourada")
VIOLACOES_GUARDADAS = 50  # a primeira já reprova; mais que isto só enche a tela

# `site` é o id do aplicativo. `prometido` conta se houve 202; `visto`, se a conferência o achou no banco.
TABELAS = """
    CREATE TABLE evento (
        site TEXT, evento_id TEXT, sessao TEXT, tipo TEXT, e_erro INTEGER, ocorrido_em TEXT,
        prometido INTEGER DEFAULT 0, visto INTEGER DEFAULT 0, PRIMARY KEY (site, evento_id)
    ) WITHOUT ROWID;
"""
SQL_MANDAR = """
    INSERT OR IGNORE INTO evento (site, evento_id, sessao, tipo, e_erro, ocorrido_em) VALUES (?, ?, ?, ?, ?, ?)
"""
SQL_PROMETER = "UPDATE evento SET prometido = 1 WHERE site = ? AND evento_id = ? AND prometido = 0"


@dataclass(slots=True)
class ContaDeRecusa:
    """Quantas vezes um motivo foi respondido (ao menos isto) e mandado (no máximo isto)."""

    requisicoes_respondidas: int = 0
    requisicoes_mandadas: int = 0
    eventos_respondidos: int = 0
    eventos_mandados: int = 0


@dataclass(slots=True)
class Oraculo:
    """Anota o que se mandou e o que se respondeu; de várias threads ao mesmo tempo."""

    livro: Livro = field(default_factory=lambda: Livro(TABELAS))
    sessoes_mandadas: set[tuple[str, str]] = field(default_factory=set)
    sessoes_prometidas: set[tuple[str, str]] = field(default_factory=set)
    recusas: dict[str, ContaDeRecusa] = field(default_factory=dict)
    respostas: Counter[str] = field(default_factory=Counter)
    esperas_ms: Counter[int] = field(default_factory=Counter)  # por faixa: uma lista cresceria sem fim
    espera_maxima_s: float = 0.0
    violacoes: list[str] = field(default_factory=list)
    qtd_violacoes: int = 0
    _trava: threading.Lock = field(default_factory=threading.Lock)

    @property
    def qtd_prometidos(self) -> int:
        """Quantos eventos o servidor prometeu guardar."""
        with self._trava:
            return self.livro.contar("SELECT count(*) FROM evento WHERE prometido")

    def percentil_ms(self, fracao: float) -> float:
        """O percentil das esperas por resposta, em milissegundos."""
        return calcular_percentil(self.esperas_ms, fracao) or 0.0

    def acusar(self, violacao: str) -> None:
        """Registra uma violação (as primeiras por extenso, as demais só contadas)."""
        with self._trava:
            self._acusar(violacao)

    def anotar_envio(self, lote: Lote) -> None:
        """Chamar antes do último byte de cada tentativa: daqui em diante o lote pode existir."""
        with self._trava:
            self.respostas["mandadas"] += 1
            if lote.recusa is None:
                self.sessoes_mandadas.add((lote.site.id, lote.sessao))
                self.livro.anotar(
                    SQL_MANDAR,
                    [
                        (lote.site.id, e.evento_id, lote.sessao, e.tipo, e.e_erro, e.ocorrido_em)
                        for e in lote.eventos
                    ],
                )
                for motivo, quantos in lote.invalidos.items():
                    self._conta(motivo).eventos_mandados += quantos
                if lote.site.franquia is not None:
                    conta = self._conta(RECUSA_PELA_FRANQUIA[1])
                    conta.requisicoes_mandadas += 1
                    conta.eventos_mandados += len(lote.eventos) + sum(lote.invalidos.values())
            else:
                conta = self._conta(lote.recusa[1])
                conta.requisicoes_mandadas += 1
                conta.eventos_mandados += lote.recusa[2]

    def anotar_sem_resposta(self) -> None:
        """A conexão caiu: nenhuma promessa. Se foi no meio do corpo, a porta pode ter contado um corte."""
        with self._trava:
            self.respostas["sem resposta"] += 1
            self._conta("corpo_incompleto").requisicoes_mandadas += 1

    def anotar_resposta(self, lote: Lote, resposta: Resposta, espera_s: float) -> bool:
        """Anota a promessa; devolve True se o cliente terminou com este lote, False se deve reenviar."""
        with self._trava:
            self.respostas[str(resposta.status)] += 1
            self.esperas_ms[achar_faixa(espera_s * 1000)] += 1
            self.espera_maxima_s = max(self.espera_maxima_s, espera_s)
            if resposta.status == 503:
                self._conferir_503(resposta)
                return False
            if resposta.status == 202 and lote.recusa is None:
                self._prometer(lote, resposta)
            elif (resposta.status, resposta.codigo) in self._recusas_legitimas(lote):
                conta = self._conta(str(resposta.codigo))
                conta.requisicoes_respondidas += 1
                conta.eventos_respondidos += (
                    lote.recusa[2] if lote.recusa else len(lote.eventos) + sum(lote.invalidos.values())
                )
            else:
                esperado = lote.recusa[:2] if lote.recusa else "202"
                self._acusar(f"esperava {esperado}, veio {resposta.status}: {resposta.corpo[:300]!r}")
            return True

    def _prometer(self, lote: Lote, resposta: Resposta) -> None:
        lido = resposta.json() or {}
        recusados = sum(lote.invalidos.values())
        if (lido.get("aceitos"), lido.get("recusados")) != (len(lote.eventos), recusados):
            self._acusar(
                f"202 com contas erradas: {resposta.corpo[:300]!r}, eram {len(lote.eventos)}/{recusados}"
            )
        self.sessoes_prometidas.add((lote.site.id, lote.sessao))
        self.livro.anotar(
            SQL_PROMETER, [(lote.site.id, e.evento_id) for e in lote.eventos if e.tipo != "PULSO"]
        )
        for motivo, quantos in lote.invalidos.items():
            self._conta(motivo).eventos_respondidos += quantos

    def _conferir_503(self, resposta: Resposta) -> None:
        if resposta.codigo not in CODIGOS_503 or not resposta.cabecalhos.get("retry-after", "").isdigit():
            self._acusar(f"503 sem código ou sem Retry-After: {resposta.cabecalhos} {resposta.corpo[:300]!r}")
        self.respostas[f"503 {resposta.codigo}"] += 1

    def anotar_corte(self) -> None:
        """Um corpo será cortado no meio: a porta pode contá-lo como `corpo_incompleto`, ou nem o ver."""
        with self._trava:
            self._conta("corpo_incompleto").requisicoes_mandadas += 1

    def _recusas_legitimas(self, lote: Lote) -> set[tuple[int, str | None]]:
        legitimas: set[tuple[int, str | None]] = set()
        if lote.recusa is not None:
            legitimas.add(lote.recusa[:2])
        elif lote.site.franquia is not None:
            legitimas.add(RECUSA_PELA_FRANQUIA)
        return legitimas

    def _conta(self, motivo: str) -> ContaDeRecusa:
        return self.recusas.setdefault(motivo, ContaDeRecusa())

    def _acusar(self, violacao: str) -> None:
        self.qtd_violacoes += 1
        if len(self.violacoes) < VIOLACOES_GUARDADAS:
            self.violacoes.append(violacao)
