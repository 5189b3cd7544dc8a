"""PostgreSQL do Django com conferência de conexão que não gasta consulta.

Cada thread da porta guarda a sua conexão. Depois de uma queda do PostgreSQL a conexão guardada
está morta, e o primeiro POST de cada thread levaria 503 à toa. O Django confere com um `SELECT 1`
por requisição (uma volta a mais ao servidor); aqui basta olhar se o soquete ocioso tem algo a ler:
numa conexão ociosa isso só acontece quando o servidor se despediu.
"""

import select

from django.db.backends.postgresql import base


class DatabaseWrapper(base.DatabaseWrapper):
    """O adaptador do Django, trocando só a pergunta "esta conexão ainda serve?"."""

    def is_usable(self) -> bool:
        """Diz se a conexão guardada continua aberta (sem ida ao servidor)."""
        conexao = self.connection
        if conexao is None or conexao.closed:
            return False
        espera = select.poll()
        espera.register(conexao.fileno(), select.POLLIN | select.POLLERR | select.POLLHUP)
        return not espera.poll(0)
