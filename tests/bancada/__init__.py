"""A bancada: mede o Lastro inteiro contra uma referência tirada na mesma execução (`make bench`).

Cada figura é uma razão. O servidor (`manage.py local`, dados novos), o gerador de carga e a referência
dividem a mesma máquina e se alternam dentro de cada rodada, para que um vizinho barulhento pese nos dois
lados. Toda rodada confere as contagens; uma linha a mais ou a menos derruba a bancada.

- `__main__.py`     opções, ordem das figuras, tabela e `.local/bench.json`.
- `servidor.py`     sobe e encerra um servidor novo numa pasta temporária.
- `aplicativos.py`  cria os aplicativos (um por 5.000 eventos: o limite por minuto continua valendo).
- `amostras.py`     eventos verossímeis e os bytes das requisições, prontos antes de o relógio andar.
- `acervo_do_painel.py` `entrada.py` dez milhões de linhas para as listas, e um administrador dentro.
- `transportadora.py` integração, mensagens já registradas, callbacks prontos e a conferência deles.
- `carga.py`        o gerador HTTP: uma thread, soquetes crus, conexões que ficam abertas.
- `insercao.py`     a referência do aceite: o mesmo laço, falando direto com o PostgreSQL.
- `banco.py`        limpar, esperar ficar visível, conferir, COPY de referência.
- `processador.py`  quanto de CPU cada parte gastou.
- `medida.py`       mediana, dispersão e o que uma figura devolve.
- `relatorio.py`    a tabela e o JSON.
- `figuras/`        uma figura por módulo; `figuras/__init__.py` é o registro delas.
"""
