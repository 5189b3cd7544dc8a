"""A página de demonstração do coletor, só no modo local: um botão por tipo de evento e o que o servidor gravou.

`views.py` a página e o JSON dela; `consultas.py` o que o JSON mostra. A chave é a do aplicativo que
`manage.py primeira_execucao` cria.
"""

CHAVE_DE_DEMONSTRACAO = "pk_live_demonstracao"
