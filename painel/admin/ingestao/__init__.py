"""As telas da ingestão, um arquivo por tabela.

- `aplicativo.py`  a lista e o formulário; trocar a chave, excluir, restaurar.
- `uso.py`         uso, recusas e avisos; o uso do mês e dos doze meses de um aplicativo.
- `minuto.py`      as contagens por trás dos gráficos da página inicial.
- `sessao.py` `evento.py` `erro.py`  o que os sites mandaram.
- `triagem.py`     resolver, ignorar e reabrir erros.
- `lote.py`        a caixa de entrada e o reexecutar.
"""

from painel.admin.ingestao import aplicativo, erro, evento, lote, minuto, sessao, uso

__all__ = ["aplicativo", "erro", "evento", "lote", "minuto", "sessao", "uso"]
