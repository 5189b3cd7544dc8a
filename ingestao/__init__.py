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
13. `eventos/retencao.py`      apaga de verdade o que passou de trinta dias.
14. `eventos/minutos.py`       o uso por minuto, para as telas; somado com o do dia, vive 48 h.

Quem manda os lotes numa página é o `static/ingestao/coletor.js`, servido por `coletor.py`; `demonstracao/` é a página
que o mostra, só no modo local.

O caminho de uma captura (`POST /captura/ingestao`; protocolo e códigos em docs/captura.md), arquivo por arquivo:

1. `capturas/atendimento.py`   autentica, faz, responde; conta a chamada recusada (a view chama o mesmo).
2. `capturas/autenticacao.py`  o token → aparelho.
3. `capturas/recepcao.py`      o lote, dos bytes ao COMMIT: o que é novo, o que é reenvio, o que é conflito.
4. `capturas/corpo.py`         bytes → o lote e onde está cada recorte (`partes.py` lê o multipart).
5. `capturas/leitura.py`       JSON → eventos lidos (`campos.py`), a identidade do conteúdo, a hora suspeita.
6. `capturas/relatos.py`       descartes, latências e pulso.
7. `capturas/recortes.py`      é um JPEG inteiro? sem decodificar; `preparo.py` o junta ao evento.
8. `capturas/reenvios.py`      o mesmo de novo: é igual? foi o link ou a fila?
9. `capturas/gravacao.py`      um INSERT para o lote, as travas, as medidas; COMMIT; só então o 200.
10. `capturas/medidas.py`      faixas, percentis, o corte que parou; `consultas.py` os lê por hora, dia, aparelho.

O caminho de um quadro pedido:

1. `capturas/pedidos.py`       quem opera contesta, cancela, olha, exclui; tudo vai para `trilha.py`.
2. `capturas/espera.py`        o aparelho espera por pedidos sem ocupar thread (long poll).
3. `capturas/quadros.py`       o envio aos pedaços, o SHA-256, ou a notícia de que o quadro não existe mais.
4. `capturas/deposito.py`      onde o quadro fica.
5. `capturas/dispositivos.py`  criar um aparelho, trocar o token, desligar.

O outro lado: `cliente/` é o que roda no aparelho, instalável sozinho (o caminho dele está na sua docstring), e
`capturas/simulacao/` são aparelhos de mentira com o cliente de verdade, por um link que perde de propósito.
"""
