"""O fuzz longo: `make fuzz` (`python -m tests.fuzz`), contra um `manage.py local` de verdade em 127.0.0.1.

- `preparo.py`     o que o servidor precisa ter para as visitas passarem da porta: um site, um aparelho com um pedido
                   aberto, uma integração por formato, uma pessoa com a sessão aberta.
- `visitante.py`   faz os pedidos, confere cada resposta na hora e anota o que ouviu.
- `sorteio.py`     valores quase bons: JSON, bytes estragados, parâmetros de filtro.
- `alvos.py`       uma visita por grupo de rotas: o que se sorteia e o que se pede.
- `contas.py`      no fim, tudo o que se ouviu contra o que o servidor contou e gravou.
- `execucao.py`    a corrida: os alvos em rodízio até o tempo acabar.

A mesma semente dá a mesma sequência; o exemplo que falhou sai encolhido pelo hypothesis.
"""
