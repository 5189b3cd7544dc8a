"""JSON → lote lido: o envelope confere, cada evento é aceito ou recusado com o seu motivo. Puro.

Regras por campo (docs/ingestao.md, "Campos"):
- texto: o que não for texto vira o seu JSON (nada se perde) e é cortado em caracteres inteiros;
- número: outro tipo descarta o campo, e o nome dele fica em `campos_descartados`;
  infinito ou fora do intervalo recusa o evento (`numero_fora_do_intervalo`);
- `payload`: qualquer JSON até `PAYLOAD_NIVEIS` níveis e `PAYLOAD_NOS` nós;
- `ocorrido_em`: ISO 8601 ou milissegundos; ilegível ou fora da janela vira a hora de recepção.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

EVENTOS_POR_LOTE = 500  # contrato da ingestão, etapa 4
PAYLOAD_NIVEIS = 32  # fundo o bastante para qualquer estado de tela; raso para percorrer sem risco
PAYLOAD_NOS = 20_000  # um payload deste tamanho já é um despejo de memória, não um evento
ID_CARACTERES = 200
SESSAO_CARACTERES = 200
PAGINA_CARACTERES = 2_000
CHAVE_CARACTERES = 120
JANELA_PASSADO = timedelta(days=30)  # a retenção: mais antigo que isto é relógio quebrado
ORIGINAL_CARACTERES = 64

TIPOS = frozenset(
    "ERRO_JS PROMISE_REJEITADA CONSOLE REQUISICAO CLIQUE PAGINA DESEMPENHO IDENTIFICACAO PULSO PERSONALIZADO".split()
)
# Cortes do contrato (processamento), em caracteres; metodo, nivel, metrica seguem o de nome.
CORTES = {
    "nome": 120,
    "mensagem": 2_000,
    "pilha": 8_000,
    "arquivo": 2_000,
    "url": 2_000,
    "metodo": 120,
    "nivel": 120,
    "seletor": 500,
    "texto": 200,
    "metrica": 120,
    "usuario_id": ID_CARACTERES,
}
MAXIMO_INT32 = 2**31 - 1  # coluna integer do PostgreSQL
MAXIMO_JSON = 2.0**63  # acima, um inteiro já pode ter sido arredondado por quem leu ou por quem escreveu

CAMPOS_DA_SESSAO = {
    "anonimo_id": SESSAO_CARACTERES,
    "usuario_id": SESSAO_CARACTERES,
    "navegador": SESSAO_CARACTERES,
    "sistema_operacional": SESSAO_CARACTERES,
    "dispositivo": SESSAO_CARACTERES,
    "resolucao": SESSAO_CARACTERES,
    "pagina_inicial": PAGINA_CARACTERES,
}


class EnvelopeInvalido(ValueError):
    """O corpo é JSON mas não é um lote; `codigo` estável e a frase do que corrigir."""

    def __init__(self, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.detalhe = detalhe


class EventoRecusado(ValueError):
    """Um evento sozinho não serve; os vizinhos seguem."""

    def __init__(self, codigo: str) -> None:
        super().__init__(codigo)
        self.codigo = codigo


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """O lote antes de olhar os eventos: `sessao` e `eventos` ainda crus."""

    chave: str
    sessao: Any
    eventos: list[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecusaDeEvento:
    """Por que o evento de posição `indice` (a partir de zero) ficou de fora."""

    indice: int
    codigo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventosLidos:
    """O que se aproveitou: `aceitos` prontos para gravar, `recusas` na ordem em que vieram."""

    aceitos: list[dict[str, Any]]
    recusas: list[RecusaDeEvento]


def ler_envelope(corpo: Any) -> Envelope:
    """Devolve o envelope. Levanta `EnvelopeInvalido` se falta a chave ou a lista de eventos."""
    if not isinstance(corpo, dict):
        raise EnvelopeInvalido("lote_invalido", "O corpo deve ser um objeto com chave, sessao e eventos.")
    chave, eventos = corpo.get("chave"), corpo.get("eventos")
    if not isinstance(chave, str):
        raise EnvelopeInvalido("chave_ausente", "Falta `chave`, um texto que começa com pk_.")
    if not isinstance(eventos, list):
        raise EnvelopeInvalido("eventos_ausentes", "Falta `eventos`, uma lista.")
    return Envelope(chave=chave, sessao=corpo.get("sessao"), eventos=eventos)


def ler_sessao(sessao: Any) -> dict[str, str | None]:
    """Devolve a sessão com `sessao_externa` e os campos opcionais cortados.

    Levanta `EnvelopeInvalido` sem `sessao_externa` de 1 a `SESSAO_CARACTERES` caracteres: cortar um
    identificador juntaria sessões diferentes.
    """
    externa = sessao.get("sessao_externa") if isinstance(sessao, dict) else None
    if not isinstance(externa, str) or not 0 < len(externa) <= SESSAO_CARACTERES:
        raise EnvelopeInvalido(
            "sessao_invalida",
            f"`sessao.sessao_externa` deve ser um texto de 1 a {SESSAO_CARACTERES} caracteres.",
        )
    lida: dict[str, str | None] = {"sessao_externa": externa}
    for campo, limite in CAMPOS_DA_SESSAO.items():
        valor = sessao.get(campo)
        try:
            lida[campo] = None if valor is None else _ler_texto(valor, limite)
        except EventoRecusado:  # número infinito num campo descritivo: não vale o lote
            lida[campo] = None
    return lida


def ler_eventos(crus: list[Any], recebido_em: datetime) -> EventosLidos:
    """Lê até `EVENTOS_POR_LOTE` eventos; o excedente e os inválidos viram recusas com índice e código."""
    aceitos: list[dict[str, Any]] = []
    recusas: list[RecusaDeEvento] = []
    for indice, cru in enumerate(crus):
        if indice >= EVENTOS_POR_LOTE:
            recusas.append(RecusaDeEvento(indice=indice, codigo="lote_cheio"))
            continue
        try:
            aceitos.append(_ler_evento(cru, recebido_em))
        except EventoRecusado as recusa:
            recusas.append(RecusaDeEvento(indice=indice, codigo=recusa.codigo))
    return EventosLidos(aceitos=aceitos, recusas=recusas)


def _ler_evento(cru: Any, recebido_em: datetime) -> dict[str, Any]:
    if not isinstance(cru, dict):
        raise EventoRecusado("evento_invalido")
    evento_id, tipo = cru.get("evento_id"), cru.get("tipo")
    if not isinstance(evento_id, str) or not 0 < len(evento_id) <= ID_CARACTERES:
        raise EventoRecusado("evento_id_invalido")
    if not isinstance(tipo, str) or tipo not in TIPOS:
        raise EventoRecusado("tipo_invalido")
    evento: dict[str, Any] = {"evento_id": evento_id, "tipo": tipo}
    descartados: list[str] = []
    for campo, valor in cru.items():
        leitor = _LEITORES.get(campo)
        if leitor is None or valor is None:
            continue
        lido = leitor(valor)
        if lido is None:
            descartados.append(campo)
        else:
            evento[campo] = lido
    if descartados:
        evento["campos_descartados"] = " ".join(descartados)
    evento["ocorrido_em"], original = _ler_ocorrido_em(cru.get("ocorrido_em"), recebido_em)
    if original is not None:
        evento["ocorrido_em_original"] = original
    return evento


def _ler_texto(valor: Any, limite: int) -> str:
    if type(valor) is not str:
        _conferir_json(valor)
        valor = orjson.dumps(valor).decode()
    texto: str = valor
    return texto if len(texto) <= limite else texto[:limite]


def _leitor_de_texto(limite: int) -> Callable[[Any], str]:
    return lambda valor: valor if type(valor) is str and len(valor) <= limite else _ler_texto(valor, limite)


def _ler_inteiro(valor: Any) -> int | None:
    """Inteiro de 0 a 2³¹−1 (aceita 12.0); outro tipo devolve None (campo descartado)."""
    if type(valor) is not int:
        if type(valor) is not float:
            return None
        if valor != valor or abs(valor) == float("inf"):
            raise EventoRecusado("numero_fora_do_intervalo")
        if not valor.is_integer():
            return None
    if not 0 <= valor <= MAXIMO_INT32:
        raise EventoRecusado("numero_fora_do_intervalo")
    return int(valor)


def _ler_duracao(valor: Any) -> float | None:
    """Milissegundos, de 0 a 2³¹−1, com fração; outro tipo devolve None."""
    if type(valor) not in (int, float):
        return None
    if not 0 <= valor <= MAXIMO_INT32:
        raise EventoRecusado("numero_fora_do_intervalo")
    return float(valor)


def _ler_valor(valor: Any) -> float | None:
    """Qualquer número finito; outro tipo devolve None."""
    if type(valor) not in (int, float):
        return None
    if not -MAXIMO_JSON < valor < MAXIMO_JSON:
        raise EventoRecusado("numero_fora_do_intervalo")
    return float(valor)


def _ler_payload(valor: Any) -> Any:
    _conferir_json(valor)
    return valor


def _conferir_json(valor: Any) -> None:
    """Levanta `EventoRecusado` se há nível, nó ou número além do que se guarda sem alterar."""
    nos = PAYLOAD_NOS
    nivel = [valor]
    for _ in range(PAYLOAD_NIVEIS + 1):
        seguinte: list[Any] = []
        for item in nivel:
            tipo = type(item)
            if tipo is dict:
                seguinte.extend(item.values())
            elif tipo is list:
                seguinte.extend(item)
            elif (tipo is float or tipo is int) and not -MAXIMO_JSON < item < MAXIMO_JSON:
                raise EventoRecusado("numero_fora_do_intervalo")
        if not seguinte:
            return
        nos -= len(seguinte)
        if nos < 0:
            raise EventoRecusado("payload_grande")
        nivel = seguinte
    raise EventoRecusado("payload_profundo")


def _ler_ocorrido_em(valor: Any, recebido_em: datetime) -> tuple[datetime, str | None]:
    """Devolve o instante e, se ele teve de ser trocado, o que o remetente mandou.

    Relógio adiantado ou mais de `JANELA_PASSADO` atrasado vira `recebido_em`: um aparelho com a data
    errada não pode envenenar a primeira e a última ocorrência de um erro.
    """
    if valor is None:
        return recebido_em, None
    instante = _ler_instante(valor)
    if instante is not None and recebido_em - JANELA_PASSADO <= instante <= recebido_em:
        return instante, None
    original = valor if isinstance(valor, str) else repr(valor) if isinstance(valor, int | float) else "?"
    return recebido_em, original[:ORIGINAL_CARACTERES]


def _ler_instante(valor: Any) -> datetime | None:
    """ISO 8601 (sem fuso = UTC) ou milissegundos desde 1970; None se não se lê."""
    try:
        if type(valor) is str:
            lido = datetime.fromisoformat(valor)
            return lido.replace(tzinfo=UTC) if lido.tzinfo is None else lido.astimezone(UTC)
        if type(valor) in (int, float):
            return datetime.fromtimestamp(valor / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


_LEITORES: Mapping[str, Callable[[Any], Any]] = {
    **{campo: _leitor_de_texto(limite) for campo, limite in CORTES.items()},
    "linha": _ler_inteiro,
    "coluna": _ler_inteiro,
    "status": _ler_inteiro,
    "duracao_ms": _ler_duracao,
    "valor": _ler_valor,
    "payload": _ler_payload,
}
