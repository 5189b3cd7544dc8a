"""A caixa de entrada: gravar → confirmar → acordar → aplicar.

Quem recebe grava uma linha (`ItemDaCaixa`) e confirma depois do COMMIT. Um worker reivindica as
linhas pendentes, aplica os efeitos em conjunto e as apaga, tudo numa transação: ou tudo aconteceu e
a linha sumiu, ou nada aconteceu e a linha está lá. A mensagem do Celery é só um despertador.

- `modelo.py`       `ItemDaCaixa`, o que toda caixa guarda por item.
- `fila.py`         `Caixa`: reivindicar, aplicar, isolar o veneno, estacionar, reexecutar.
- `despertador.py`  acordar os workers sem segurar a requisição nem repetir mensagens.
- `grupo.py`        gravar num COMMIT só o que chegou junto, sem que um estrague os outros.
- `medida.py`       profundidade, idade e o teto da porta.
"""

from ingestao.caixa.despertador import Despertador
from ingestao.caixa.fila import RESPIRO_S, Balanco, Caixa
from ingestao.caixa.grupo import ItemDoGrupo, em_cada, gravar_juntos, responder
from ingestao.caixa.medida import MedidaDaCaixa, PortaFechada, TetoDaPorta
from ingestao.caixa.modelo import ItemDaCaixa

__all__ = [
    "RESPIRO_S",
    "Balanco",
    "Caixa",
    "Despertador",
    "ItemDaCaixa",
    "ItemDoGrupo",
    "MedidaDaCaixa",
    "PortaFechada",
    "TetoDaPorta",
    "em_cada",
    "gravar_juntos",
    "responder",
]
