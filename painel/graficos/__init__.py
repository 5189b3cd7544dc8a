"""Gráficos das telas: SVG pronto do servidor, sem JavaScript, com a tabela dos mesmos números ao lado.

Uma tela monta um `Grafico` e o mostra com `{% include "painel/grafico.html" with grafico=… %}`:

- `montar_barras`     barras empilhadas, uma coluna por instante;
- `montar_linhas`     linhas (p50 e p95) sobre os mesmos instantes; None é um buraco; `mostrar` diz a unidade;
- `montar_proporcao`  uma barra deitada com as partes de um total (`painel/proporcao.html`);
- `rotular_minutos`, `rotular_horas`, `rotular_dias`  os rótulos dos instantes.

O que se vê não depende só da cor: cada tom tem a sua trama, cada linha o seu traço, a legenda traz o total e
`<details>` traz a tabela. As posições são em % na horizontal e em px na vertical: a letra não se deforma.

- `formas.py`    as peças, já medidas.
- `rotulos.py`   instantes, quantidades e durações por extenso.
- `montagem.py`  de séries às peças.
"""

from painel.graficos.formas import Grafico, Parte, Proporcao, Rotulo, Serie, Tom
from painel.graficos.montagem import montar_barras, montar_linhas, montar_proporcao
from painel.graficos.rotulos import (
    mostrar_bytes,
    mostrar_duracao,
    mostrar_percentual,
    rotular_dias,
    rotular_horas,
    rotular_minutos,
)

__all__ = [
    "Grafico",
    "Parte",
    "Proporcao",
    "Rotulo",
    "Serie",
    "Tom",
    "montar_barras",
    "montar_linhas",
    "montar_proporcao",
    "mostrar_bytes",
    "mostrar_duracao",
    "mostrar_percentual",
    "rotular_dias",
    "rotular_horas",
    "rotular_minutos",
]
