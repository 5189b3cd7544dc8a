"""O fluxo dos aparelhos de campo; o caminho de uma captura está em `ingestao/__init__.py`."""
