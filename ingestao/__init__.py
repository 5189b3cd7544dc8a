"""Ingestão: o que sites e dispositivos mandam.

O caminho de um lote (`POST /evento/ingestao`), arquivo por arquivo:

1. `eventos/views.py`          recebe; confere, grava, acorda, responde.
2. `eventos/corpo.py`          bytes → JSON: gzip sob teto, NUL e meio emoji trocados na borda.
3. `eventos/leitura.py`        JSON → lote lido: cada evento aceito ou recusado com o seu motivo.
4. `eventos/chaves.py`         a chave → aplicativo (com cache de segundos).
5. `eventos/origem.py`         a origem → confere contra os domínios do aplicativo.
6. `eventos/limites.py`        a janela de um minuto por chave.
7. `eventos/cota.py`           a franquia do mês e os avisos dela.
8. `eventos/gravacao.py`       um INSERT na caixa de entrada; COMMIT; só então o 202.
9. `caixa/`                    a caixa de entrada: acorda o worker, reivindica, isola o veneno.
10. `eventos/processamento.py` aplica muitos lotes numa transação: eventos, sessões, erros, uso.
11. `eventos/agrupamento.py`   a impressão digital que junta erros iguais.
12. `eventos/retencao.py`      apaga de verdade o que passou de trinta dias.
"""
