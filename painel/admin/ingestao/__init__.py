"""As telas da ingestão, um arquivo por tabela.

- `aplicativo.py`  a lista e o formulário; trocar a chave, excluir, restaurar.
- `uso.py` `consumo.py`  uso, recusas e avisos; os gráficos do mês, dos doze meses e dos dias.
- `minuto.py`              as contagens por trás dos gráficos da página inicial.
- `sessao.py` `evento.py` `erro.py`  o que os sites mandaram.
- `linha_do_tempo.py`  a história de uma sessão, com as repetições juntas.
- `busca.py`       achar sessões e eventos: por id, por pessoa, por texto num aplicativo e num período.
- `ocorrencias.py` de um erro: quantas por dia, em que sessões.
- `triagem.py` `triagem_na_tela.py`  resolver, ignorar, reabrir, atribuir e anotar erros, com trilha.
- `lote.py`        a caixa de entrada e o reexecutar.
"""

from painel.admin.ingestao import aplicativo, erro, evento, lote, minuto, sessao, uso

__all__ = ["aplicativo", "erro", "evento", "lote", "minuto", "sessao", "uso"]
