"""As telas dos recibos, um arquivo por tabela.

- `integracao.py`   a lista e o formulário; `formulario.py` são os campos.
- `vida.py`         trocar o token, excluir, restaurar.
- `regras.py` `finais.py`  mudar os finais, ver o que mudaria (reprojetar) e aplicar.
- `experimento.py`  um payload colado, lido e não guardado.
- `excecao.py`      a lista de trabalho e a página com a evidência.
- `ato.py` `atuacao.py`  cada ato sobre exceções, de uma ou de muitas, e a página dele.
- `candidata.py`    as mensagens de que um recibo poderia falar.
- `explicacoes.py`  o que cada tipo, motivo e papel quer dizer, para quem opera.
- `mensagem.py` `evento.py` `recepcao.py` `recusa.py`  o que se mandou e o que voltou.
- `pendente.py`     recepções na caixa e o reexecutar.
- `evidencia.py`    os bytes como chegaram, legíveis e inertes.
- `chegada.py`      recepções contadas por minuto e por dia.
- `filtros.py` `contagens.py`  a barra das listas e os números com teto.
"""

from painel.admin.dlr import chegada, evento, excecao, integracao, mensagem, pendente, recepcao, recusa

__all__ = ["chegada", "evento", "excecao", "integracao", "mensagem", "pendente", "recepcao", "recusa"]
