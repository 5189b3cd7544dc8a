"""Ingestão: o que sites e dispositivos mandam.

O caminho de um lote (`POST /evento/ingestao`), arquivo por arquivo:

1. `eventos/atendimento.py`    recebe os que chegaram juntos; confere, grava, acorda, responde (a view chama o mesmo).
2. `eventos/recepcao.py`       as etapas da porta, na ordem do contrato, até o COMMIT.
3. `eventos/corpo.py`          bytes → JSON: gzip sob teto, NUL e meio emoji trocados na borda.
4. `eventos/chaves.py`         a chave → aplicativo (com cache de segundos).
5. `eventos/origem.py`         a origem → confere contra os domínios do aplicativo.
6. `eventos/leitura.py`        JSON → lote lido: cada evento aceito ou recusado com o seu motivo.
7. `eventos/limites.py`        a janela de um minuto por chave.
8. `eventos/cota.py`           a franquia do mês e os avisos dela.
9. `eventos/gravacao.py`       um INSERT na caixa de entrada, do grupo inteiro; COMMIT; só então cada 202.
10. `caixa/`                   a caixa de entrada: grava em grupo, acorda o worker, reivindica, isola o veneno.
11. `eventos/processamento.py` aplica muitos lotes numa transação: eventos, sessões, erros, uso.
    `eventos/copia.py`          as linhas no formato do COPY.
12. `eventos/agrupamento.py`   a impressão digital que junta erros iguais.
13. `eventos/avisos.py`        os e-mails de franquia e de regressão.
14. `eventos/retencao.py`      apaga de verdade o que passou de trinta dias.
"""
