"""O fluxo dos sites; o caminho de um lote está contado em `ingestao/__init__.py`."""
