"""A página inicial do admin: o que chega, o que é recusado e por quê, o que espera e o que precisa de gente.

Cada assunto é um módulo com o SQL no alto, `buscar_…` (uma ou duas idas ao banco, de custo limitado) e `montar_…`
(o que o template mostra, com os links que a pessoa pode seguir):

- `visao.py`      o que a pessoa pode ver e aonde cada número leva.
- `chegadas.py`   chegadas e recusas, por minuto e por dia, dos três fluxos.
- `motivos.py`    os motivos de recusa por extenso.
- `filas.py`      as caixas de entrada, os estacionados e os workers.
- `erros.py`      erros novos e regredidos.
- `excecoes.py`   exceções dos recibos, por tipo e idade.
- `mensagens.py`  aceite, relatado e verificado: três coisas.
- `capturas.py`   latência, reenvios, descartes e aparelhos silenciosos.
- `cota.py`       o uso do mês contra a franquia.
- `passos.py`     o que falta instalar.
- `faixa.py`      algo perdido, atrasado ou recusado? Regra pura.
- `pagina.py`     junta tudo em blocos, só os que a pessoa pode ver.
- `views.py`      a página e o retrato que a mantém atualizada.
"""
