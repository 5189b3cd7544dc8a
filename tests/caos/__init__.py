"""Caos: o Lastro inteiro de pé, os três fluxos sob carga, falhas sorteadas e um oráculo que confere tudo.

`make caos MINUTOS=30 SEMENTE=7` sobe um servidor próprio numa pasta temporária, carrega, derruba, para de derrubar e
confere: o que cada 2xx prometeu existe, uma vez, com o mesmo conteúdo; toda conta é exata; toda recusa está visível.
Progresso a cada dez segundos, resumo no fim, saída 1 se algo foi quebrado (e os registros dos processos em
`.local/caos/semente-N`). `make test` roda uma versão curta (`tests/falhas/test_caos_curto.py`) e sabota o banco para
ver se os oráculos acusam.

A mesma semente repete o roteiro (que falha, em que instante, com que duração, em que câmera), a sequência de lotes,
recibos e capturas que cada cliente cria, com os seus ids, e os cortes da n-ésima conexão do relé e de cada enlace.
Depende do tempo real, e portanto não se repete: o que cada falha pega no meio, como as threads se entrelaçam, quais
lotes são reenviados, quanto se capturou antes de cada morte, os carimbos de hora, os pids e os ids que o cliente de
verdade faz.

A rodada
- `execucao.py`      do começo ao resumo
- `servidor.py`      um `manage.py local` numa pasta temporária: subir, achar os processos, matar, limpar
- `falhas.py`        o que se derruba no servidor, e o roteiro sorteado pela semente
- `rele.py`          um relé TCP que corta e cala conexões em qualquer byte
- `envio.py`         HTTP com soquete à vista: cortar, repetir, mandar aos pedaços
- `livro.py`         onde os oráculos anotam, em disco: meia hora não cresce na memória
- `cadastro.py`      cria integrações e aparelhos; `aplicativos.py`, os sites
- `fluxo.py`         o que a rodada pede de cada fluxo

Eventos (`fluxo_eventos.py`)
- `lotes.py`         os lotes sorteados
- `clientes.py`      as threads que mandam, reenviam e duplicam
- `oraculo.py`       o que cada resposta prometeu
- `conferencia.py`   o banco contra as promessas

Recibos (`fluxo_recibos.py`)
- `recibos.py`       as mensagens e os recibos sorteados
- `transportadora.py`  quem manda e quem registra
- `conferencia_recibos.py`

Capturas (`fluxo_capturas.py`)
- `capturas.py`      as capturas sorteadas: boas, inválidas, em conflito, de relógio torto
- `aparelhos.py`     threads que falam o protocolo
- `campo.py`         câmeras: o cliente de verdade (`camera.py`) em processos, com fila em disco e link ruim
- `oraculo_capturas.py`, `conferencia_capturas.py`
"""
