"""A demonstração: uma semana de dados dos três fluxos, mandada pelas rotas de verdade.

`manage.py demonstracao` chama `execucao.py`, que faz uma etapa por vez; cada uma deixa na trilha do painel que
terminou, e a segunda rodada não a repete.

- `semente.py` o acaso repetível: ids, nomes e sorteios saem da semente; e os tamanhos.
- `chamada.py` o cliente HTTP: reenvia o que o contrato manda reenviar.
- `cadastro.py` quem assina o que se faz, o que é da demonstração e o que é de verdade; `usuarios.py` um por papel.
- `sites.py` manda as visitas de `visitas.py` às páginas de `lugares.py`, com os erros de `defeitos.py`.
- `capturas.py` manda o que os aparelhos de `aparelhos.py` viram, com as imagens de `cenas.py`; depois,
  `contestacoes.py`.
- `recibos.py` registra as mensagens de `mensagens.py` e faz as chamadas que `transportadoras.py` escreve, cada uma na
  sua `linha.py`; depois, `reconciliacao.py`.
- `avisos.py` diz para quem vão os avisos, e olha se há algum.
- `tempo.py` põe no dia certo o que só o relógio do servidor data.

O que há rota para mandar vai por ela. O que só uma pessoa faz no painel (triar, contestar, decidir um final) passa pela
mesma função que a tela chama, e fica na trilha como feito pela demonstração.
"""
