"""As decisões do remetente. Puro: recebe uma resposta, devolve o que ela quer dizer.

| Veio | Quer dizer | Conta para o teto? |
|---|---|---|
| 200 | conferir evento por evento | só o que não se confirmou |
| 413 | dividir ao meio; sozinho, quarentena | não |
| 401, 403 | segurar tudo e alarmar | não |
| 429, 503 | esperar o que foi pedido | não |
| nenhuma resposta, 408, 425, 502, 504, redirecionamento, 4xx sem `codigo` | o link, ou alguém no meio | não |
| 4xx do Lastro, 500 e os outros | este lote falhou | sim |

Sem resposta não conta porque dias sem rede não podem condenar a fila; 502 e 504 são do proxy na frente de um
servidor parado, e um 4xx que não é do Lastro é um portal de hotel ou uma URL errada.
"""

from __future__ import annotations

import enum


class Rumo(enum.Enum):
    """O que fazer com o lote."""

    CONFERIR = "conferir"
    DIVIDIR = "dividir"
    SEGURAR = "segurar"
    ESPERAR = "esperar"
    LINK = "link"
    FALHOU = "falhou"


_POR_STATUS = {
    200: Rumo.CONFERIR,
    401: Rumo.SEGURAR,
    403: Rumo.SEGURAR,
    408: Rumo.LINK,
    413: Rumo.DIVIDIR,
    425: Rumo.LINK,
    429: Rumo.ESPERAR,
    502: Rumo.LINK,
    503: Rumo.ESPERAR,
    504: Rumo.LINK,
}


def decidir(status: int | None, *, codigo: str | None) -> Rumo:
    """`status` None é não ter havido resposta; `codigo` é o do erro do Lastro, se foi ele quem respondeu."""
    if status is None or 300 <= status < 400:
        return Rumo.LINK
    if status in _POR_STATUS:
        return _POR_STATUS[status]
    if 400 <= status < 500 and codigo is None:
        return Rumo.LINK
    return Rumo.FALHOU


def recusa_definitiva(status: int | None, *, qtd_eventos: int) -> bool:
    """O servidor leu um lote de um evento só e não o aceita (4xx): repetir os mesmos bytes não muda a resposta."""
    return qtd_eventos == 1 and status is not None and 400 <= status < 500


class Rampa:
    """Quantos eventos por lote: desce à metade a cada corte ou 413, sobe ao dobro a cada sucesso.

    Depois de uma queda do link o primeiro lote é pequeno: quem volta prova a água, e quem caiu no meio de um
    lote grande não o manda inteiro de novo. O teto que um 413 ensinou só se esquece aos poucos.
    """

    RECOMECO = 4  # eventos; uns 80 KB, alguns segundos num link de 2G
    SUCESSOS_PARA_ESQUECER = 20

    def __init__(self, maximo: int) -> None:
        self._maximo = maximo
        self._teto = maximo
        self._sucessos = 0
        self.atual = maximo

    def subir(self) -> None:
        """Um lote foi aceito."""
        self._sucessos += 1
        if self._sucessos >= self.SUCESSOS_PARA_ESQUECER:
            self._sucessos, self._teto = 0, min(self._maximo, self._teto * 2)
        self.atual = min(self._teto, self.atual * 2)

    def descer(self, mandados: int) -> None:
        """Um lote de `mandados` foi cortado no caminho."""
        self._sucessos = 0
        self.atual = max(1, min(self.RECOMECO, mandados // 2))

    def dividir(self, mandados: int) -> None:
        """Um lote de `mandados` era grande demais."""
        self._sucessos = 0
        self._teto = self.atual = max(1, mandados // 2)

    def limite(self, falhas_do_primeiro: int) -> int:
        """Quantos cabem agora. Quem já falhou viaja em grupos cada vez menores, até ir sozinho."""
        return max(1, min(self.atual, self._maximo >> falhas_do_primeiro))
