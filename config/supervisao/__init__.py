"""Quem mantém de pé os processos do `manage.py local`. Só biblioteca padrão, nada do Django.

- `servico.py`      o que se declara sobre um processo
- `supervisor.py`   o laço: iniciar, reiniciar com recuo, parar em ordem
- `execucao.py`     um serviço em andamento
- `saida.py`        terminal que não bloqueia e registros de tamanho limitado
- `processos.py`    olhar e encerrar processos do sistema
- `lancador.py`     o último passo de um filho: largar privilégios e pedir para morrer com o pai
"""
