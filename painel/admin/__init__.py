"""As telas do painel, um módulo por aplicativo do Django.

- `dlr/`               integrações, exceções, mensagens, recepções e eventos dos recibos.
- `ingestao/`          aplicativos, sessões, eventos, erros, uso, recusas, avisos e a caixa de entrada.
- `usuarios.py`        usuários e grupos.
- `navegacao.py`       o menu.
- `somente_leitura.py` a tela que mostra e não muda.
- `tabela_grande.py`   lista sem contagem total, ordenada por índice.
- `filtros.py`         os filtros da barra das listas; `recentes.py`, os que a página inicial pede.
- `ficha.py`           rótulos e valores de uma página.
- `texto_alheio.py`    texto de desconhecidos: inteiro, visível e inerte.
"""

from django.contrib import admin

from painel.admin import dlr, ingestao, usuarios

admin.site.index_title = "Painel"

__all__ = ["dlr", "ingestao", "usuarios"]
