"""O banco contra o que a transportadora e quem envia ouviram, depois que as falhas pararam.

O esperado sai das recepções gravadas, cujos bytes se conhecem pela marca; nunca do que o worker derivou.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg

from tests.caos.recibos import FINAIS, INTERMEDIARIO, Callback, Evento, Roteiro
from tests.caos.transportadora import Anotacoes, Integracao

EXEMPLOS = 5
MARCA = re.compile(rb"marca-[0-9]+-[0-9]+-[abc]")

SQL_RECEPCOES = "SELECT id, corpo FROM dlr_recepcao WHERE integracao_id = %s ORDER BY id"
SQL_EVENTOS = """
    SELECT e.id_externo, e.estado_bruto, m.id_interno, e.correlacao, e.qtd_recepcoes,
        e.recepcao_id, e.indice, o.todas, o.primeiras
    FROM dlr_eventologico e LEFT JOIN dlr_mensagem m ON m.id = e.mensagem_id
    CROSS JOIN LATERAL (SELECT count(*) AS todas, count(*) FILTER (WHERE NOT repeticao) AS primeiras
        FROM dlr_ocorrencia WHERE evento_id = e.id) o
    WHERE e.integracao_id = %s
"""
SQL_ILEGIVEIS = """
    SELECT o.recepcao_id, o.indice FROM dlr_ocorrencia o JOIN dlr_recepcao r ON r.id = o.recepcao_id
    WHERE r.integracao_id = %s AND o.evento_id IS NULL AND o.ilegivel <> ''
"""
SQL_PROJECOES = """
    SELECT m.id_interno, p.estado, p.final, p.conflito
    FROM dlr_mensagem m LEFT JOIN dlr_projecao p ON p.mensagem_id = m.id WHERE m.integracao_id = %s
"""
SQL_EXCECOES = """
    SELECT x.tipo, coalesce(m.id_interno, x.alvo)
    FROM dlr_excecao x LEFT JOIN dlr_mensagem m ON m.id = x.mensagem_id
    WHERE x.integracao_id = %s AND x.situacao = 'aberta'
"""
SQL_CAIXA = "SELECT id, tentativas, estacionado_em, falha FROM dlr_recepcaopendente"
# O que ainda vai mudar sozinho: pendentes, e eventos soltos cuja mensagem está registrada.
SQL_POR_FAZER = """
    SELECT (SELECT count(*) FROM dlr_recepcaopendente) + (SELECT count(*) FROM dlr_eventologico e
        WHERE e.mensagem_id IS NULL AND EXISTS (SELECT FROM dlr_identificadorexterno i
            WHERE i.integracao_id = e.integracao_id AND i.valor = e.id_externo))
"""


@dataclass(slots=True)
class Esperado:
    """O que as recepções gravadas implicam. `primeira` é (recepção, posição) de cada evento."""

    itens: Counter[Evento] = field(default_factory=Counter)
    primeira: dict[Evento, tuple[int, int]] = field(default_factory=dict)
    ilegiveis: set[tuple[int, int]] = field(default_factory=set)
    por_marca: Counter[str] = field(default_factory=Counter)

    def historia(self) -> Mapping[str, list[str]]:
        """Os estados de cada id externo, na ordem da primeira recepção."""
        estados: dict[str, list[str]] = defaultdict(list)
        for id_externo, estado in sorted(self.primeira, key=lambda evento: self.primeira[evento]):
            estados[id_externo].append(estado)
        return estados


def conferir(
    banco: psycopg.Connection[Any], integracao: Integracao, roteiro: Roteiro, anotacoes: Anotacoes
) -> list[str]:
    """As violações; nenhuma, se tudo o que se confirmou está lá e nada está a mais."""
    violacoes: list[str] = list(anotacoes.violacoes)

    def acusar(frase: str, casos: Iterable[Any]) -> None:
        lista = sorted(casos, key=str)
        if lista:
            violacoes.append(f"{frase}: {len(lista)}, como {lista[:EXEMPLOS]}")

    def buscar(sql: str) -> list[tuple[Any, ...]]:
        return banco.execute(sql, (integracao.id,)).fetchall()

    esperado = _ler_recepcoes(buscar(SQL_RECEPCOES), roteiro.callbacks, acusar)
    _conferir_marcas(esperado, anotacoes, acusar)
    _conferir_eventos(esperado, buscar(SQL_EVENTOS), roteiro, acusar)
    _conferir_projecoes(esperado, buscar(SQL_PROJECOES), roteiro, acusar)
    _conferir_excecoes(esperado, buscar(SQL_EXCECOES), roteiro, acusar)
    _diferir("itens ilegíveis", esperado.ilegiveis, buscar(SQL_ILEGIVEIS), acusar)
    acusar("mensagem confirmada em dúvida", roteiro.registradas - anotacoes.registradas)
    acusar("ficou recepção na caixa, pendente ou estacionada", banco.execute(SQL_CAIXA).fetchall())
    return violacoes


def _ler_recepcoes(
    recepcoes: Iterable[tuple[int, bytes]], callbacks: Mapping[str, Callback], acusar: Any
) -> Esperado:
    esperado = Esperado()
    estranhas: list[bytes] = []
    for id_, corpo in recepcoes:
        marca = MARCA.search(corpo)
        callback = callbacks.get(marca[0].decode()) if marca else None
        if callback is None or callback.corpo != corpo:
            estranhas.append(corpo[:200])
            continue
        esperado.por_marca[callback.marca] += 1
        for indice, evento in enumerate(callback.itens):
            if evento is None:
                esperado.ilegiveis.add((id_, indice))
                continue
            esperado.itens[evento] += 1
            esperado.primeira.setdefault(evento, (id_, indice))
    acusar("recepção com bytes que ninguém mandou", estranhas)
    return esperado


def _conferir_marcas(esperado: Esperado, anotacoes: Anotacoes, acusar: Any) -> None:
    """Cada 202 é uma recepção; sem resposta ou com 503 pode haver uma ou nenhuma; nunca mais."""
    confirmadas, duvidosas = anotacoes.confirmadas, anotacoes.duvidosas
    acusar(
        "callback confirmado sem recepção (marca, recepções, 202)",
        [(m, esperado.por_marca[m], n) for m, n in confirmadas.items() if esperado.por_marca[m] < n],
    )
    acusar(
        "recepção a mais (marca, recepções, tentativas)",
        [
            (m, n, confirmadas[m] + duvidosas[m])
            for m, n in esperado.por_marca.items()
            if n > confirmadas[m] + duvidosas[m]
        ],
    )


def _conferir_eventos(
    esperado: Esperado, linhas: list[tuple[Any, ...]], roteiro: Roteiro, acusar: Any
) -> None:
    vezes = Counter((linha[0], linha[1]) for linha in linhas)
    _diferir("eventos lógicos", esperado.itens, vezes, acusar)
    acusar("evento lógico repetido", [evento for evento, n in vezes.items() if n > 1])
    errados: dict[str, list[Any]] = defaultdict(list)
    for id_externo, estado, mensagem, correlacao, qtd, recepcao, indice, ocorrencias, primeiras in linhas:
        evento = (id_externo, estado)
        certas = esperado.itens[evento]
        if (qtd, ocorrencias) != (certas, certas):
            errados["qtd_recepcoes ou ocorrências (evento, qtd, ocorrências, certas)"].append(
                (evento, qtd, ocorrencias, certas)
            )
        if primeiras != 1 or (recepcao, indice) != esperado.primeira.get(evento):
            errados["primeira recepção do evento"].append((evento, primeiras, recepcao, indice))
        registrada = id_externo in roteiro.registradas
        certa = (f"m-{id_externo}", "unica") if registrada else (None, "esperando")
        if (mensagem, correlacao) != certa:
            errados["correlação do evento"].append((evento, mensagem, correlacao))
    for frase, casos in errados.items():
        acusar(frase, casos)


def _conferir_projecoes(
    esperado: Esperado, linhas: list[tuple[Any, ...]], roteiro: Roteiro, acusar: Any
) -> None:
    historia = esperado.historia()
    certas = {(f"m-{id_}", *_projetar(historia.get(id_, []))) for id_ in roteiro.registradas}
    _diferir("projeções", certas, linhas, acusar)
    acusar("mensagem repetida", [m for m, n in Counter(linha[0] for linha in linhas).items() if n > 1])


def _projetar(estados: list[str]) -> tuple[str | None, bool, bool]:
    """(estado, final, conflito): vale o primeiro final recebido; um segundo, diferente, é conflito."""
    finais = [estado for estado in estados if estado in FINAIS]
    if finais:
        return finais[0], True, len(finais) > 1
    return (INTERMEDIARIO if estados else None), False, False


def _conferir_excecoes(
    esperado: Esperado, linhas: list[tuple[Any, ...]], roteiro: Roteiro, acusar: Any
) -> None:
    certas = {
        ("formato_nao_reconhecido", f"ocorrencia:{recepcao}#{indice}")
        for recepcao, indice in esperado.ilegiveis
    }
    certas |= {
        ("conflito_final", f"m-{id_}")
        for id_, estados in esperado.historia().items()
        if id_ in roteiro.registradas and _projetar(estados)[2]
    }
    _diferir("exceções abertas", certas, linhas, acusar)


def _diferir(frase: str, certos: Iterable[Any], vistos: Iterable[Any], acusar: Any) -> None:
    certos, vistos = set(certos), set(vistos)
    acusar(f"{frase}: falta", certos - vistos)
    acusar(f"{frase}: a mais", vistos - certos)
