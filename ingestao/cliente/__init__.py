"""O cliente de capturas: o que roda no dispositivo. Não conhece Django nem o servidor, só o protocolo.

O caminho de uma captura, arquivo por arquivo:

1. `cliente.py`      `Cliente.capturar(quadro, caixas, payload)`: a porta de quem programa.
2. `captura.py`      o quadro e as caixas → os eventos, com o id que viaja com eles para sempre.
3. `recorte.py`      a conta da caixa (pura) e o recorte em JPEG.
4. `quadros.py`      o quadro inteiro fica numa pasta, com janela e cota, à espera de uma contestação.
5. `fila.py`         o evento é gravado (COMMIT e fsync) antes de `capturar` devolver o id.
   `arquivo.py`      o arquivo SQLite: transações, disco cheio, arquivo danificado, travas.
   `esquema.py`      as tabelas.
6. `remetente.py`    o laço: pega os mais antigos, manda, e só apaga o que o servidor disse que gravou.
   `agenda.py`       as decisões do laço (puras): o que cada resposta quer dizer, quem espera, quem desiste.
   `espera.py`       o recuo exponencial com jitter, e o `Retry-After` (puro).
   `mensagens.py`    o JSON que vai e o que volta (puro).
   `envio.py`        o HTTP.
7. `contadores.py`   descartes por motivo e latências até o ACK, entregues uma vez só.
8. `atendente.py`    o quadro pedido numa contestação sobe em pedaços, de onde o servidor parou.
9. `relogio.py`      o relógio que não volta, o que volta, e a suspeita sobre o segundo.

Por fora: `comando.py` (linha de comando), `configuracao.py`, `situacao.py`, `entrada.py` (pasta vigiada).
"""

from .cliente import Cliente
from .erros import (
    CapturaInvalida,
    ConfiguracaoInvalida,
    ErroDoCliente,
    FilaCheia,
    FilaEmUso,
    FilaIndisponivel,
    SemEspaco,
)
from .recorte import Caixa

__all__ = [
    "Caixa",
    "CapturaInvalida",
    "Cliente",
    "ConfiguracaoInvalida",
    "ErroDoCliente",
    "FilaCheia",
    "FilaEmUso",
    "FilaIndisponivel",
    "SemEspaco",
]
