"""Simulação de aparelhos: o cliente de verdade contra um servidor de verdade, por um link que perde de propósito.

- `enlace.py`     o link ruim: um proxy TCP local que corta antes, no meio e depois do COMMIT, e conta o que causou.
- `imagens.py`    quadros sorteados, com as detecções.
- `aparelhos.py`  os aparelhos capturando, e a conferência do que chegou.

Serve a `manage.py simular_dispositivos` e aos testes de ponta a ponta.
"""
