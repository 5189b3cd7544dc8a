"""Um evento que já estava gravado chegou de novo: é o mesmo? E por que voltou? Puro."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

CONFLITOS = {
    "id_de_outro_dispositivo": "Este id_evento já foi usado por outro dispositivo; nada foi sobrescrito.",
    "conteudo_diferente": "Este id_evento já foi gravado com outro conteúdo; nada foi sobrescrito.",
}


@dataclass(slots=True, kw_only=True)
class Gravada:
    """Uma captura como está no banco, travada; muda aqui e depois lá."""

    id_evento: str
    dispositivo_id: UUID
    conteudo_resumo: str
    gravado_em: datetime
    maior_tentativa: int
    reenvios_link: int
    reenvios_fila: int
    latencia_ms: int | None

    def decidir_conflito(self, dispositivo_id: UUID, conteudo_resumo: str) -> str | None:
        """O código do conflito entre o que chegou e o que está gravado; None se é a mesma captura."""
        if self.dispositivo_id != dispositivo_id:
            return "id_de_outro_dispositivo"
        return None if self.conteudo_resumo == conteudo_resumo else "conteudo_diferente"

    def contar_reenvio(self, tentativa: int) -> bool:
        """Soma o reenvio e diz se foi por link (True) ou por fila (False).

        Link: a tentativa cresceu, logo o aparelho sabe que já tinha mandado e o ACK se perdeu. Fila: repetiu
        tentativa, ou mandou de novo depois de informar a latência, que só sabe quem viu o ACK.
        """
        por_link = tentativa > self.maior_tentativa and self.latencia_ms is None
        self.maior_tentativa = max(self.maior_tentativa, tentativa)
        if por_link:
            self.reenvios_link += 1
        else:
            self.reenvios_fila += 1
        return por_link

    def anotar_latencia(self, ms: int) -> bool:
        """Guarda a latência, uma vez; diz se guardou."""
        if self.latencia_ms is not None:
            return False
        self.latencia_ms = ms
        return True
