"""Uma integração da demonstração falando com o servidor: a transportadora que chama, e quem envia."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dlr.models import Integracao
from painel.demonstracao.chamada import Cliente
from painel.demonstracao.mensagens import Mensagem
from painel.demonstracao.transportadoras import Transportadora

ROTA_DAS_MENSAGENS = "/dlr/mensagens"


@dataclass(slots=True, kw_only=True)
class Linha:
    """Uma integração falando com o servidor, e quando a história diz que foi cada recepção."""

    cliente: Cliente
    transportadora: Transportadora
    integracao: Integracao
    token: str
    recepcoes: list[datetime] = field(default_factory=list)

    @property
    def callback(self) -> str:
        """A rota que a transportadora chama."""
        return f"/dlr/callback/{self.integracao.slug}/{self.token}"

    def quem_envia(self) -> dict[str, str]:
        """As credenciais das rotas de quem envia."""
        return {"Authorization": f"Bearer {self.token}"}

    def chamar(self, corpo: bytes, quando: datetime, *, tipo: str = "") -> None:
        """Uma chamada da transportadora, que a história diz ter sido em `quando`."""
        cabecalhos = {"Content-Type": tipo or self.transportadora.tipo}
        resposta = self.cliente.chamar("POST", self.callback, corpo, cabecalhos)
        if resposta.status < 300:
            self.recepcoes.append(quando)

    def registrar(self, mensagens: Sequence[dict[str, Any]]) -> list[int]:
        """Registra e devolve os números das mensagens, na ordem."""
        corpo = {"mensagens": list(mensagens)}
        resposta = self.cliente.mandar_json(ROTA_DAS_MENSAGENS, corpo, self.quem_envia())
        return [registrada["id"] for registrada in resposta.json()["resultados"]]

    def contar(self, mensagem: Mensagem) -> None:
        """Os recibos de uma mensagem, na ordem."""
        for recibo, quando in mensagem.recibos():
            self.chamar(self.transportadora.escrever(recibo), quando)
