"""Recibos de entrega (DLR) que as transportadoras de SMS mandam.

O caminho de um recibo, arquivo por arquivo:

1. `atendimento.py`    os callbacks que chegaram juntos: grava, acorda, responde o que cada transportadora espera.
2. `porta.py`          até o COMMIT: de que integração é, se é autêntica, o que se guarda da chamada crua.
   `autenticacao.py`   token, Basic, assinatura do fornecedor, lista de IP.
3. `gravacao.py`       as recepções (que não mudam nunca) e os pendentes, num COMMIT só; e o SQL do worker.
4. `processamento.py`  lê com o formato, deduplica, correlaciona, projeta, abre e fecha exceções: uma transação.
   `nascimento.py`     o evento lógico, gravado já atado à mensagem e com o papel dele.
   `amarracao.py`      de que mensagem ele fala, ao chegar ou depois; `materializacao.py`, o estado dela.
5. `formatos/`         como cada transportadora escreve; puro.
6. `dominio/`          as regras: chave, correlação, projeção; puro.
7. `excecoes.py`       o que uma pessoa pode fazer com o que não se decidiu sozinho.
8. `registro.py`       o caminho das mensagens: quem envia conta o que enviou, e o id externo que ganhou.
9. `consultas.py`      a mensagem explicada, o relatório.
10. `releitura.py`     ler de novo o que já se aplicou, com o leitor de hoje.
11. `reprojecao.py`    recalcular tudo com o leitor e as regras de hoje, com prévia.
12. `contagem.py`      recepções por minuto e por dia, para as telas.
"""
