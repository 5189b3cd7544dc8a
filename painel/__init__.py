"""O painel: onde suporte, operação e administração trabalham, e os comandos de operação.

- `admin/`       as telas, um módulo por aplicativo do Django.
- `inicio/`      a primeira página, ao vivo.
- `graficos/`    gráficos em SVG, para qualquer tela.
- `saude.py`     `/saude` e `/prontidao`.
- `situacao.py`  o retrato das filas, das linhas e dos workers.
- `management/`  `local`, `primeira_execucao`, `situacao`.
"""
