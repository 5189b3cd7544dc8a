"""Caos: o Lastro inteiro de pé, clientes que reenviam, falhas sorteadas e um oráculo que confere tudo.

`python -m tests.caos --minutos 5 --semente 42` repete o mesmo roteiro de falhas; `make test` roda uma
versão curta (`tests/falhas/test_caos_curto.py`).

- `servidor.py`      um `manage.py local` numa pasta temporária: subir, achar os processos, matar, limpar
- `aplicativos.py`   cria os sites de que a carga precisa, num processo à parte
- `lotes.py`         os lotes sorteados que os clientes mandam
- `envio.py`         HTTP com soquete à vista: cortar, repetir, mandar aos pedaços
- `clientes.py`      as threads que mandam, reenviam e duplicam
- `oraculo.py`       o que cada resposta prometeu
- `falhas.py`        o que se derruba, e o roteiro sorteado pela semente
- `conferencia.py`   o banco contra as promessas, depois de tudo
- `execucao.py`      junta as peças: uma rodada do começo ao resumo
"""
