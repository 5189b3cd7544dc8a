"""Como se entra no painel: senha, tranca contra quem adivinha, e o segundo fator.

- `tranca.py`         quantas senhas erradas, de quem e de onde, e o que se responde a quem passou delas.
- `segundo_fator.py`  quem tem, quem precisa, conferir um código, ativar e remover.
- `pendente.py`       quem já acertou a senha e ainda deve o código.
- `formularios.py`    os campos das telas.
- `views.py`          as telas: o código, e o segundo fator da própria pessoa.
"""
