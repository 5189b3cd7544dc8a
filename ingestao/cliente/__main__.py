"""`python -m lastro_captura` (ou `python -m ingestao.cliente`, dentro do repositório)."""

from .comando import executar

if __name__ == "__main__":
    executar()
