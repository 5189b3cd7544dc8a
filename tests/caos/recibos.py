"""O que uma transportadora manda e o que quem envia registra, sorteado de antemão. Puro.

Cada chamada leva no corpo uma marca, que o formato ignora: é por ela que se acham as recepções no banco. O
evento lógico é (id externo, estado); cópias com outra marca são o mesmo evento contado de novo.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

MENSAGENS_POR_REGISTRO = 20
RECIBOS_POR_LISTA = 20
DIA = "2026-03-01"
INTERMEDIARIO = "ENROUTE"
FINAIS = ("DELIVERED", "UNDELIVERABLE", "EXPIRED", "REJECTED")

CHANCE_DE_NUNCA_REGISTRADA = 0.05
CHANCE_DE_AVULSO = 0.35  # os outros recibos vão em listas
CHANCE_DE_COPIA_IDENTICA = 0.10
CHANCE_DE_COPIA_COM_OUTRA_MARCA = 0.10
CHANCE_DE_ITEM_ILEGIVEL = 0.15  # das listas
CHANCE_DE_ILEGIVEL = 0.04  # por chamada legível, mais uma que não se lê
# Um recibo pode chegar antes da mensagem dele, ou depois, em fração da duração da carga.
ADIANTAMENTO, ATRASO = 0.08, 0.15

Evento = tuple[str, str]  # (id externo, estado)


@dataclass(frozen=True, slots=True, kw_only=True)
class Callback:
    """Uma chamada da transportadora. `itens` segue a ordem do corpo; None é um item que não se lê."""

    marca: str
    corpo: bytes
    itens: tuple[Evento | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Registro:
    """Uma chamada de quem envia, com os ids externos das mensagens dela (o id interno é `m-<id>`)."""

    corpo: bytes
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roteiro:
    """Tudo o que se mandará, na ordem em que se começa a mandar."""

    chamadas: tuple[Callback | Registro, ...]
    registradas: frozenset[str]

    @property
    def callbacks(self) -> dict[str, Callback]:
        """Cada callback pela marca."""
        return {c.marca: c for c in self.chamadas if isinstance(c, Callback)}


def montar_roteiro(semente: int, *, mensagens: int) -> Roteiro:
    """Sorteia as mensagens, a história de cada uma e quando cada chamada sai; a mesma semente, o mesmo roteiro."""
    sorteio = Random(f"recibos:{semente}")
    instantes: dict[str, float] = {f"{semente}-{n:05d}": n / mensagens for n in range(mensagens)}
    registradas = [id_ for id_ in instantes if sorteio.random() >= CHANCE_DE_NUNCA_REGISTRADA]
    marcadas: list[tuple[float, Callback | Registro]] = []
    for ids in _pedacos(registradas, MENSAGENS_POR_REGISTRO):
        marcadas.append((instantes[ids[0]], _montar_registro(ids)))
    eventos = sorted(
        (max(0.0, instante + sorteio.uniform(-ADIANTAMENTO, ATRASO)), (id_, estado))
        for id_, instante in instantes.items()
        for estado in _sortear_historia(sorteio)
    )
    avulsos = [marcado for marcado in eventos if sorteio.random() < CHANCE_DE_AVULSO]
    ja_avulsos = set(avulsos)
    em_listas = [marcado for marcado in eventos if marcado not in ja_avulsos]
    grupos = [[avulso] for avulso in avulsos] + list(_pedacos(em_listas, RECIBOS_POR_LISTA))
    for numero, grupo in enumerate(grupos):
        instante = grupo[-1][0]
        for copia in _montar_callbacks(sorteio, f"{semente}-{numero}", [evento for _, evento in grupo]):
            marcadas.append((instante, copia))
            instante += sorteio.uniform(0, ATRASO)
    marcadas.sort(key=lambda marcada: marcada[0])
    return Roteiro(chamadas=tuple(chamada for _, chamada in marcadas), registradas=frozenset(registradas))


def _sortear_historia(sorteio: Random) -> Sequence[str]:
    """Os estados que a transportadora contará de uma mensagem; dois finais são um conflito."""
    final, outro = sorteio.sample(FINAIS, 2)
    (historia,) = sorteio.choices(
        ([INTERMEDIARIO, final], [final], [INTERMEDIARIO], [INTERMEDIARIO, final, outro], []),
        (70, 10, 8, 5, 7),
    )
    return historia


def _montar_callbacks(sorteio: Random, nome: str, eventos: Sequence[Evento]) -> Iterator[Callback]:
    """O callback e, às vezes, cópias dele e um que não se lê."""
    com_lixo = len(eventos) > 1 and sorteio.random() < CHANCE_DE_ITEM_ILEGIVEL
    original = _montar_callback(f"marca-{nome}-a", eventos, com_lixo=com_lixo)
    yield original
    if sorteio.random() < CHANCE_DE_COPIA_IDENTICA:
        yield original
    if sorteio.random() < CHANCE_DE_COPIA_COM_OUTRA_MARCA:
        yield _montar_callback(f"marca-{nome}-b", eventos, com_lixo=False)
    if sorteio.random() < CHANCE_DE_ILEGIVEL:
        marca = f"marca-{nome}-c"
        yield Callback(marca=marca, corpo=f'{{"id_externo": "{marca}", "estado'.encode(), itens=(None,))


def _montar_callback(marca: str, eventos: Sequence[Evento], *, com_lixo: bool) -> Callback:
    recibos: list[Any] = [_montar_recibo(*evento) for evento in eventos]
    itens: list[Evento | None] = list(eventos)
    if com_lixo:
        recibos.insert(1, "isto não é um recibo")
        itens.insert(1, None)
    corpo = {**recibos[0], "marca": marca} if len(itens) == 1 else {"marca": marca, "recibos": recibos}
    return Callback(marca=marca, corpo=json.dumps(corpo).encode(), itens=tuple(itens))


def _montar_recibo(id_externo: str, estado: str) -> dict[str, Any]:
    """Metade das mensagens tem id de evento do fornecedor; a outra é deduplicada pela impressão digital."""
    do_fornecedor = {"evento_id": f"{id_externo}:{estado}"} if int(id_externo[-1]) % 2 else {}
    segundo = int(id_externo[-4:]) % 60
    return {
        "id_externo": id_externo,
        "estado": estado,
        "destino": "+5511987654321",
        "concluido_em": f"{DIA}T12:00:{segundo:02d}-03:00",
        **do_fornecedor,
    }


def _montar_registro(ids: Sequence[str]) -> Registro:
    mensagens = [
        {
            "id_interno": f"m-{id_}",
            "ids_externos": [{"valor": id_}],
            "origem": "28500",
            "destino": "+5511987654321",
            "apresentada_em": f"{DIA}T11:59:00-03:00",
            "aceita": True,
        }
        for id_ in ids
    ]
    return Registro(corpo=json.dumps({"mensagens": mensagens}).encode(), ids=tuple(ids))


def _pedacos(itens: Sequence[Any], tamanho: int) -> Iterator[Sequence[Any]]:
    for inicio in range(0, len(itens), tamanho):
        yield itens[inicio : inicio + tamanho]
