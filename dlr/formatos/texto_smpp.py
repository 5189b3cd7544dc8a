"""O recibo em texto do apêndice B do SMPP 3.4: `id:… sub:… dlvrd:… submit date:… done date:… stat:… err:… text:…`.

O apêndice é um costume, não uma norma: cada SMSC tira, acrescenta e reordena campos. Lê-se o que houver.
"""

import re
from dataclasses import dataclass

from dlr.dominio.estados import Estado

ESTADOS_DO_TEXTO = {
    "DELIVRD": Estado.DELIVERED,
    "UNDELIV": Estado.UNDELIVERABLE,
    "ACCEPTD": Estado.ACCEPTED,  # ? encerra em alguns SMSC (“lido em nome do assinante”); aqui, intermediário
    "REJECTD": Estado.REJECTED,
    # EXPIRED, DELETED, UNKNOWN, ENROUTE, SCHEDULED e SKIPPED já são os próprios nomes; os demais, por extenso.
    **{estado.value: estado for estado in Estado},  # UNKNOWN: ? encerra em alguns; aqui, intermediário
}

# O primeiro `text:` corta, mesmo colado ao valor anterior: o que vem depois foi escrito por quem mandou a mensagem.
_INICIO_DO_TEXTO = re.compile(r"text\s*:", re.IGNORECASE)
_CAMPO = re.compile(
    r"(?:(?<=\s)|\A)(id|sub|dlvrd|submit[\s_]*date|done[\s_]*date|stat|err)\s*:", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextoSmpp:
    """Os campos lidos, como vieram; None para o ausente ou vazio. Datas em texto: `tempos.ler_smpp` é que as lê."""

    id: str | None = None
    stat: str | None = None
    err: str | None = None
    submit_date: str | None = None
    done_date: str | None = None
    sub: str | None = None
    dlvrd: str | None = None

    @property
    def e_recibo(self) -> bool:
        """Há ao menos um dos dois campos que fazem um recibo: de que mensagem fala e o que diz dela."""
        return self.id is not None or self.stat is not None

    @property
    def estado(self) -> Estado | None:
        """O estado do `stat`; None se não veio ou não está na tabela (um número no `stat` não é `message_state`)."""
        return ESTADOS_DO_TEXTO.get(self.stat.upper()) if self.stat else None


def ler_texto(bruto: str | None) -> TextoSmpp:
    """Lê os campos antes de `text:`, em qualquer ordem e espaçamento; campo repetido, vale o primeiro.

    Nunca levanta: sem nenhum campo, devolve tudo None.
    """
    cabeca = (bruto or "").replace("\x00", " ")  # alguns SMSC encerram o texto com NUL
    corte = _INICIO_DO_TEXTO.search(cabeca)
    if corte:
        cabeca = cabeca[: corte.start()]
    achados = list(_CAMPO.finditer(cabeca))
    fins = [achado.start() for achado in achados[1:]] + [len(cabeca)]
    campos: dict[str, str] = {}
    for achado, fim in zip(achados, fins, strict=False):  # sem campo nenhum sobra o fim
        nome = re.sub(r"[\s_]*date", "_date", achado[1].lower())
        valor = _ler_valor(nome, cabeca[achado.end() : fim])
        if valor:
            campos.setdefault(nome, valor)
    return TextoSmpp(**campos)


def _ler_valor(nome: str, trecho: str) -> str:
    palavras = trecho.split()
    if not palavras:
        return ""
    # Uma data fora do SMPP (“2026-11-30 12:00”) tem espaço: fica inteira, para o bruto não se perder.
    if nome.endswith("_date") and not palavras[0][:10].isdigit():
        return " ".join(palavras)
    return palavras[0]
