"""O que cada resposta a um aparelho prometeu. Nada aqui olha o banco: quem compara é `conferencia_capturas.py`.

- `gravado`: a captura está no disco, com esse conteúdo, uma vez; todo ACK do mesmo id traz os mesmos bytes.
- `conflito`: o id é de outra captura, que está no disco; esta não foi gravada, e a recusa está visível.
- `invalido`: não foi gravada, e a recusa está visível, com o código.
- 4xx: nada foi gravado, e a chamada está contada.
- 503 ou resposta nenhuma: nada. O que se mandou pode ter sido gravado ou contado; reenviado, vale uma vez só.

Um id pode ter sido mandado com vários conteúdos, por vários aparelhos, ao mesmo tempo: só um deles pode ser gravado.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.caos.capturas import Captura, ChamadaRuim
from tests.caos.envio import Resposta
from tests.caos.livro import Livro

CODIGOS_503 = {"armazenamento_indisponivel", "armazenamento_lento", "porta_cheia"}
CONFLITOS = {"conteudo_diferente", "id_de_outro_dispositivo"}
VIOLACOES_GUARDADAS = 50

# `variante` é um conteúdo mandado com um id por um aparelho; `visto`, se a conferência o achou no banco. `recusa` tem
# os inválidos, por código; `dita`, o que o cliente de verdade disse ter guardado na fila dele.
TABELAS = """
    CREATE TABLE variante (
        id TEXT, dispositivo TEXT, conteudo TEXT, suspeita TEXT, mandadas INTEGER DEFAULT 0,
        gravadas INTEGER DEFAULT 0, conflitos INTEGER DEFAULT 0, gravado_em TEXT, visto INTEGER DEFAULT 0,
        PRIMARY KEY (id, dispositivo, conteudo)
    ) WITHOUT ROWID;
    CREATE TABLE recusa (
        dispositivo TEXT, id TEXT, codigo TEXT, mandadas INTEGER DEFAULT 0, ouvidas INTEGER DEFAULT 0,
        PRIMARY KEY (dispositivo, id, codigo)
    ) WITHOUT ROWID;
    CREATE TABLE dita (id TEXT PRIMARY KEY, dispositivo TEXT, numero TEXT, visto INTEGER DEFAULT 0) WITHOUT ROWID;
    CREATE TABLE negada (dispositivo TEXT, numero TEXT, codigo TEXT, PRIMARY KEY (dispositivo, numero))
        WITHOUT ROWID;
"""
SQL_MANDAR = """
    INSERT INTO variante (id, dispositivo, conteudo, suspeita, mandadas) VALUES (?, ?, ?, ?, 1)
    ON CONFLICT DO UPDATE SET mandadas = mandadas + 1
"""
SQL_GRAVADA = """
    UPDATE variante SET gravadas = gravadas + 1, gravado_em = ? WHERE id = ? AND dispositivo = ? AND conteudo = ?
"""
SQL_CONFLITO = """
    UPDATE variante SET conflitos = conflitos + 1 WHERE id = ? AND dispositivo = ? AND conteudo = ?
"""
SQL_JA_GRAVADA = "SELECT dispositivo, conteudo, gravado_em FROM variante WHERE id = ? AND gravadas > 0"
SQL_RECUSAR = """
    INSERT INTO recusa (dispositivo, id, codigo, {campo}) VALUES (?, ?, ?, 1)
    ON CONFLICT DO UPDATE SET {campo} = {campo} + 1
"""


@dataclass(slots=True)
class OraculoDeCapturas:
    """Anota o que se mandou e o que se respondeu; de várias threads ao mesmo tempo."""

    livro: Livro = field(default_factory=lambda: Livro(TABELAS))
    respostas: Counter[str] = field(default_factory=Counter)
    chamadas_mandadas: Counter[str] = field(default_factory=Counter)
    chamadas_ouvidas: Counter[str] = field(default_factory=Counter)
    violacoes: list[str] = field(default_factory=list)
    qtd_violacoes: int = 0
    trava: threading.RLock = field(default_factory=threading.RLock)

    def acusar(self, violacao: str) -> None:
        """Registra uma violação (as primeiras por extenso, as demais só contadas)."""
        with self.trava:
            self.qtd_violacoes += 1
            if len(self.violacoes) < VIOLACOES_GUARDADAS:
                self.violacoes.append(violacao)

    def anotar_envio(self, dispositivo: str, capturas: Sequence[Captura]) -> None:
        """Chamar antes do último byte de cada tentativa: daqui em diante as capturas podem existir."""
        with self.trava:
            self.respostas["mandadas"] += 1
            self.livro.anotar(
                SQL_MANDAR,
                [(c.id, dispositivo, c.conteudo, c.suspeita) for c in capturas if c.codigo is None],
            )
            self.livro.anotar(
                SQL_RECUSAR.format(campo="mandadas"),
                [(dispositivo, c.id, c.codigo) for c in capturas if c.codigo is not None],
            )

    def anotar_chamada_ruim(self, chamada: ChamadaRuim) -> None:
        """Uma chamada que será recusada inteira, antes de ir."""
        with self.trava:
            self.respostas["mandadas"] += 1
            self.chamadas_mandadas[chamada.codigo] += 1

    def anotar_sem_resposta(self) -> None:
        """A conexão caiu: nenhuma promessa. Se foi no meio do corpo, a porta pode ter contado um corte."""
        with self.trava:
            self.respostas["sem resposta"] += 1
            self.chamadas_mandadas["corpo_incompleto"] += 1

    def anotar_resposta(self, dispositivo: str, capturas: Sequence[Captura], resposta: Resposta) -> bool:
        """Anota as promessas; devolve True se o lote está resolvido, False se deve ser reenviado."""
        with self.trava:
            self.respostas[str(resposta.status)] += 1
            if resposta.status != 200:
                return self._conferir_503(resposta)
            resultados = (resposta.json() or {}).get("resultados") or []
            if len(resultados) != len(capturas):
                self.acusar(
                    f"{len(capturas)} capturas, {len(resultados)} resultados: {resposta.corpo[:300]!r}"
                )
                return True
            for captura, resultado in zip(capturas, resultados, strict=True):
                self._anotar_resultado(dispositivo, captura, resultado, resposta.corpo)
            return True

    def anotar_recusa_inteira(self, chamada: ChamadaRuim, resposta: Resposta) -> bool:
        """A resposta a uma chamada ruim; devolve True se ela está resolvida."""
        with self.trava:
            self.respostas[str(resposta.status)] += 1
            if resposta.status == 503:
                return self._conferir_503(resposta)
            if (resposta.status, resposta.codigo) != (chamada.status, chamada.codigo):
                self.acusar(f"esperava {chamada.status} {chamada.codigo}, veio {resposta.corpo[:300]!r}")
            self.chamadas_ouvidas[chamada.codigo] += 1
            return True

    def _conferir_503(self, resposta: Resposta) -> bool:
        espera = resposta.cabecalhos.get("retry-after", "")
        if resposta.status != 503 or resposta.codigo not in CODIGOS_503 or not espera.isdigit():
            self.acusar(f"veio {resposta.status} {dict(resposta.cabecalhos)} {resposta.corpo[:300]!r}")
        return False

    def _anotar_resultado(self, dispositivo: str, captura: Captura, resultado: Any, corpo: bytes) -> None:
        situacao, codigo = resultado.get("situacao"), resultado.get("codigo")
        quem = f"{captura.id or '(sem id)'} de {dispositivo}"
        if captura.codigo is not None:
            if (situacao, codigo) != ("invalido", captura.codigo):
                self.acusar(f"{quem}: esperava invalido {captura.codigo}, veio {resultado}")
            else:
                self.livro.anotar(
                    SQL_RECUSAR.format(campo="ouvidas"), [(dispositivo, captura.id, captura.codigo)]
                )
        elif resultado.get("id_evento") != captura.id:
            self.acusar(f"{quem}: o resultado é de outro evento: {resultado}")
        elif situacao == "gravado":
            self._anotar_gravada(dispositivo, captura, resultado, corpo)
        elif situacao == "conflito" and codigo in CONFLITOS:
            self.livro.anotar(SQL_CONFLITO, [(captura.id, dispositivo, captura.conteudo)])
            self.livro.anotar(SQL_RECUSAR.format(campo="ouvidas"), [(dispositivo, captura.id, codigo)])
        else:
            self.acusar(f"{quem}: resultado que não se espera: {resultado}")

    def _anotar_gravada(self, dispositivo: str, captura: Captura, resultado: Any, corpo: bytes) -> None:
        gravado_em = resultado.get("gravado_em")
        exato = f'{{"id_evento":"{captura.id}","situacao":"gravado","gravado_em":"{gravado_em}"}}'
        desta = (dispositivo, captura.conteudo, gravado_em)
        outras = [v for v in self.livro.buscar(SQL_JA_GRAVADA, (captura.id,)) if v != desta]
        if outras or exato.encode() not in corpo:
            self.acusar(f"{captura.id}: dois ACKs diferentes: {outras}, e agora {desta} ({resultado})")
        self.livro.anotar(SQL_GRAVADA, [(gravado_em, captura.id, dispositivo, captura.conteudo)])

    # ---- O que o cliente de verdade diz

    def anotar_dita(self, dispositivo: str, numero: str, ids: Sequence[str]) -> None:
        """O cliente devolveu estes ids: estão na fila dele, e têm de chegar."""
        with self.trava:
            self.livro.anotar(
                "INSERT INTO dita (id, dispositivo, numero) VALUES (?, ?, ?)",
                [(id_, dispositivo, numero) for id_ in ids],
            )

    def contar_ditas(self, dispositivo: str) -> int:
        """Quantas o cliente deste aparelho disse ter guardado."""
        with self.trava:
            return self.livro.contar("SELECT count(*) FROM dita WHERE dispositivo = ?", (dispositivo,))

    def anotar_negada(self, dispositivo: str, numero: str, codigo: str) -> None:
        """O cliente disse que não guardou: não pode chegar."""
        with self.trava:
            self.livro.anotar("INSERT INTO negada VALUES (?, ?, ?)", [(dispositivo, numero, codigo)])
