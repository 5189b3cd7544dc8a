"""As telas das capturas: os aparelhos, o que eles mandaram, as contestações e as medidas.

- `dispositivo.py`  a lista e a página do aparelho; `vida.py`, criar, trocar o token, desligar, religar, excluir.
- `situacao.py`     em contato, silencioso, desligado, e os sinais de defeito. Puro.
- `instalacao.py`   o que se copia para o aparelho junto com o token.
- `captura.py`      a lista com miniaturas e a página da captura; `desenho.py`, o quadro e a caixa em SVG.
- `fichas.py` `tempos.py`  o que a página diz dela; os instantes de uma captura, e por que não se confia num deles.
- `contestacao.py`  contestar, desistir, excluir, restaurar: cada ato com motivo.
- `andamento.py`    como vai uma contestação, e a trilha dela por extenso. Puro.
- `pedido.py`       a lista das contestações e a tela do quadro inteiro.
- `imagens.py`      as duas rotas que entregam imagens, e como o navegador deve tratá-las.
- `recusas.py`      conflitos, inválidos, descartes e chamadas recusadas.
- `medida.py`       a página das medidas e as contagens cruas; `series.py`, de medidas a gráficos.
- `filtros.py` `codigos.py`  os filtros das listas, e os códigos por extenso.
"""

from painel.admin.capturas import captura, dispositivo, medida, pedido, recusas

__all__ = ["captura", "dispositivo", "medida", "pedido", "recusas"]
