"""As telas dos avisos, um arquivo por tabela.

- `aviso.py`    a lista do que está aberto e a página com os itens, as entregas e a trilha.
- `destino.py`  quem recebe; o formulário, o segredo mostrado uma vez, o "enviar teste".
- `entrega.py`  o que se mandou e cada tentativa; reenviar o que não chegou.
- `limiar.py`   a partir de quanto se avisa.
"""

from painel.admin.painel import aviso, destino, entrega, limiar

__all__ = ["aviso", "destino", "entrega", "limiar"]
