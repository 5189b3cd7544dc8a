"""O painel: onde suporte, operação e administração trabalham, e os comandos de operação.

- `admin/`       as telas, um módulo por aplicativo do Django.
- `inicio/`      a primeira página, ao vivo.
- `graficos/`    gráficos em SVG, para qualquer tela.
- `avisos/`      condições que merecem atenção, avisadas por e-mail e webhook.
- `metricas/`    `/metricas`.
- `tasks.py`     as tarefas do Celery.
- `saude.py`     `/saude` e `/prontidao`.
- `situacao.py`  o retrato das filas, das linhas e dos workers.
- `management/`  `local`, `primeira_execucao`, `situacao`.
"""
