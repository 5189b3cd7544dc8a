"""O que se declara sobre um processo que deve ficar de pé."""

import re
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path


class FalhaDePreparo(Exception):
    """O serviço não pode começar agora; a mensagem diz por quê. O supervisor tenta de novo mais tarde."""


class ParadaPedida(Exception):
    """Chegou SIGTERM ou SIGINT enquanto se esperava outra coisa."""


def _nada() -> None:
    return None


def _sem_conserto(ultimas_linhas: Sequence[str]) -> str | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Servico:
    """Um processo, como iniciá-lo, mantê-lo e pará-lo. O ambiente é completo: nada é herdado.

    `identidade`: (uid, gid) com que roda; None é a de quem supervisiona.
    `etapa_parada`: os de menor número param primeiro; os de mesmo número, juntos.
    `sinal_orfandade`: o que o núcleo lhe manda se o supervisor morrer sem poder parar ninguém.
    `antes_de_iniciar`: a cada início; levanta FalhaDePreparo. `ao_cair`: recebe as últimas linhas da saída
    de quem morreu sozinho e devolve o aviso do que consertou, ou None.
    `silenciar`: linhas que vão para o registro mas não para o terminal. `prefixar`: escrever `[nome] `.
    """

    nome: str
    comando: tuple[str, ...]
    ambiente: Mapping[str, str] = field(repr=False)
    pasta: Path
    identidade: tuple[int, int] | None = None
    etapa_parada: int = 0
    sinal_parada: signal.Signals = signal.SIGTERM
    sinal_forcado: signal.Signals = signal.SIGKILL
    sinal_orfandade: signal.Signals = signal.SIGTERM
    prazo_parada_s: float = 10.0
    reinicia: bool = True
    prefixar: bool = True
    silenciar: re.Pattern[str] | None = None
    antes_de_iniciar: Callable[[], None] = _nada
    ao_cair: Callable[[Sequence[str]], str | None] = _sem_conserto
