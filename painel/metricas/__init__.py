"""`/metricas`, para o Prometheus. A lista está em docs/metricas.md.

- `acesso.py`     quem pode ler (puro).
- `consultas.py`  os números do banco, cada um com o seu teto.
- `familias.py`   os números na forma do Prometheus.
- `vivos.py`      quantos workers respondem, perguntado por fora da requisição.
- `views.py`      a rota: acesso, um de cada vez, cache de segundos.
"""
