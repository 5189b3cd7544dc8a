"""Avisos: condições que merecem atenção, avisadas enquanto duram. O caminho de um aviso:

1. `observacao.py`  olha o banco e diz que condições há agora (consultas curtas, cada uma com o seu teto).
2. `regras.py`      puras: o que abriu, o que tem novidade, o que se resolveu, quem deve ouvir e a que horas.
3. `rodada.py`      grava as mudanças e as entregas que elas pedem, numa transação; uma rodada por vez.
4. `entrega.py`     manda o que está na fila, depois do COMMIT, e registra cada tentativa.
5. `correio.py` `webhook.py`  os dois canais; `assinatura.py` e `endereco.py` são o que protege o segundo.

- `conteudo.py`  o assunto, o texto e o JSON, de um aviso.
- `atos.py`      o que as pessoas fazem com ele: ver, reconhecer, silenciar.

Efeito uma vez só: condição aberta é uma linha única, e a entrega pendente também. Uma queda entre mandar e
marcar repete a mensagem, com o mesmo id.
"""
