"""O que os dois servidores embutidos têm em comum, visto por quem os inicia e vigia."""

import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from config.supervisao.servico import FalhaDePreparo

from .usuario import Usuario

PASSO_PRONTO_S = 0.05  # os dois respondem em décimos de segundo; perguntar custa milissegundos


class ErroDeServidor(FalhaDePreparo):
    """O servidor embutido não pôde ser preparado ou não respondeu; a mensagem diz o que fazer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServidorEmbutido(ABC):
    """Um servidor pronto para ser iniciado em primeiro plano por quem o vigia."""

    nome: str
    comando: tuple[str, ...]
    ambiente: dict[str, str] = field(repr=False)
    usuario: Usuario | None
    pasta: Path
    soquete: Path
    url: str
    sinal_parada: signal.Signals

    @abstractmethod
    def esta_pronto(self) -> bool:
        """Diz se o servidor aceita comandos agora. Nunca levanta por ele estar fora do ar."""

    @abstractmethod
    def limpar_restos(self) -> None:
        """Encerra o que sobrou de uma execução anterior. Chamar antes de cada início."""

    def tratar_queda(self, ultimas_linhas: Sequence[str]) -> str | None:
        """Conserta o que impediu o início, se souber; devolve o aviso do que fez, ou None."""
        return None

    def esperar_pronto(self, prazo_s: float, continua_vivo: Callable[[], bool] = lambda: True) -> None:
        """Espera o servidor responder; levanta ErroDeServidor no fim do prazo ou se o processo morrer."""
        limite = time.monotonic() + prazo_s
        onde = f"veja registros/{self.nome}.log na pasta de dados"
        while not self.esta_pronto():
            if not continua_vivo():
                raise ErroDeServidor(f"{self.nome} terminou antes de responder; {onde}")
            if time.monotonic() > limite:
                raise ErroDeServidor(f"{self.nome} não respondeu em {prazo_s:.0f} s; {onde}")
            time.sleep(PASSO_PRONTO_S)
