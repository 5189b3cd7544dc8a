"""As regras do recibo, em Python puro: sem Django, sem banco, sem relógio.

- `estados.py`    os estados SMPP e quais são finais.
- `tempos.py`     as datas que as transportadoras escrevem.
- `recibo.py`     o que chegou (`Chamada`), o que um formato lê (`Recibo`, `Ilegivel`) e como se responde.
- `chave.py`      quando duas recepções são o mesmo evento lógico.
- `correlacao.py` a que mensagem um recibo pertence, e quando não se sabe.
- `projecao.py`   o estado de uma mensagem, calculado de tudo que se recebeu sobre ela.
"""
