"""Um módulo por formato de transportadora. Acrescentar um está em CONTRIBUTING.md, arquivo por arquivo.

- `contrato.py` o que um formato é.
- `corpo.py`    JSON, formulário e consulta → valores, sem levantar nada.
- os demais     um formato cada, com a tabela de estados no alto e as dúvidas ao lado da linha.
"""
