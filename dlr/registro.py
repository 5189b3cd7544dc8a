"""Quem envia conta o que enviou. Repetível pelo `id_interno`; o id externo pode vir depois."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import phonenumbers
from django.db import transaction

from dlr.amarracao import atar_pelo_id
from dlr.dominio.correlacao import casavel, formas
from dlr.gravacao import executar
from dlr.materializacao import materializar
from dlr.models import Integracao, Verificacao

DETALHE_CARACTERES = 500  # com a origem, cabe no índice que torna a verificação única (2.704 bytes)
MENSAGENS_POR_CHAMADA = 1_000
IDS_POR_MENSAGEM = 255  # partes de uma mensagem concatenada (UDH, um octeto)
ID_CARACTERES = 200
ENDERECO_CARACTERES = 100
COMPLETAVEIS = ("origem", "destino", "rota", "registered_delivery", "apresentada_em", "aceita")

# Registrar de novo completa o que faltava e não troca o que já se sabia: a mensagem é imutável.
SQL_GRAVAR_MENSAGENS = """
    INSERT INTO dlr_mensagem AS m (
        integracao_id, id_interno, origem, destino, destino_e164, rota, registered_delivery, apresentada_em,
        aceita, criada_em
    )
    SELECT integracao_id, id_interno, coalesce(origem, ''), coalesce(destino, ''), destino_e164, rota,
        registered_delivery, apresentada_em, aceita, criada_em
    FROM json_to_recordset(%(linhas)s::json) AS r(
        integracao_id bigint, id_interno text, origem text, destino text, destino_e164 text, rota text,
        registered_delivery smallint, apresentada_em timestamptz, aceita boolean, criada_em timestamptz
    )
    ORDER BY integracao_id, id_interno COLLATE "C"
    ON CONFLICT (integracao_id, id_interno) DO UPDATE SET
        origem = coalesce(nullif(m.origem, ''), excluded.origem),
        destino = coalesce(nullif(m.destino, ''), excluded.destino),
        destino_e164 = CASE m.destino WHEN '' THEN excluded.destino_e164 ELSE m.destino_e164 END,
        rota = coalesce(m.rota, excluded.rota),
        registered_delivery = coalesce(m.registered_delivery, excluded.registered_delivery),
        apresentada_em = coalesce(m.apresentada_em, excluded.apresentada_em),
        aceita = coalesce(m.aceita, excluded.aceita)
    RETURNING id, id_interno
"""

# As que já existem, na ordem de `dlr.gravacao`: o INSERT as travaria por id interno, e um worker no meio
# do caminho por id; os dois se esperariam.
SQL_TRAVAR_REGISTRADAS = """
    SELECT m.id FROM dlr_mensagem m
    JOIN json_to_recordset(%(linhas)s::json) AS r(integracao_id bigint, id_interno text)
        ON m.integracao_id = r.integracao_id AND m.id_interno = r.id_interno
    ORDER BY m.id FOR NO KEY UPDATE OF m
"""

SQL_GRAVAR_IDENTIFICADORES = """
    INSERT INTO dlr_identificadorexterno (mensagem_id, integracao_id, valor, parte, formas)
    SELECT mensagem_id, integracao_id, valor, parte, ARRAY(SELECT jsonb_array_elements_text(formas))
    FROM json_to_recordset(%(linhas)s::json) AS r(
        mensagem_id bigint, integracao_id bigint, valor text, parte smallint, formas jsonb
    )
    ORDER BY mensagem_id, valor COLLATE "C", parte
    ON CONFLICT (mensagem_id, valor, parte) DO NOTHING
    RETURNING mensagem_id
"""


class RegistroInvalido(ValueError):
    """Uma mensagem da chamada não serve; `codigo` estável. As outras seguem."""

    def __init__(self, codigo: str, detalhe: str) -> None:
        super().__init__(detalhe)
        self.codigo = codigo
        self.detalhe = detalhe


@dataclass(frozen=True, slots=True, kw_only=True)
class Registrada:
    """O que se devolve de cada mensagem: o id nosso, ou por que não."""

    indice: int
    id: int | None = None
    id_interno: str | None = None
    codigo: str | None = None
    detalhe: str | None = None


def registrar(integracao: Integracao, crus: Sequence[Any], agora: datetime) -> list[Registrada]:
    """Grava as mensagens numa transação e, depois do COMMIT, ata os recibos que já esperavam por elas.

    Uma mensagem sem `id_interno` é identificada pelos seus ids externos na chamada: sem nenhum dos dois é
    recusada. Devolve um resultado por mensagem, na ordem.
    """
    lidas: list[dict[str, Any]] = []
    resultados: dict[int, Registrada] = {}
    for indice, cru in enumerate(crus):
        try:
            lidas.append({**_ler(cru, integracao, agora), "indice": indice})
        except RegistroInvalido as erro:
            resultados[indice] = Registrada(indice=indice, codigo=erro.codigo, detalhe=erro.detalhe)
    with transaction.atomic():
        ids = _gravar_mensagens(lidas)
        identificadores = _gravar_identificadores(lidas, ids, integracao)
        materializar(set(ids.values()), agora)
    atar_pelo_id({(integracao.pk, valor) for valor in identificadores}, agora)
    for lida in lidas:
        resultados[lida["indice"]] = Registrada(
            indice=lida["indice"], id=ids[lida["id_interno"]], id_interno=lida["id_interno"]
        )
    return [resultados[indice] for indice in range(len(crus))]


def _gravar_mensagens(lidas: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Grava e devolve id interno → id. A mesma mensagem duas vezes na chamada é uma, que se completa."""
    unicas: dict[str, dict[str, Any]] = {}
    for lida in lidas:
        primeira = unicas.setdefault(lida["id_interno"], dict(lida))
        if primeira["destino"] is None:
            primeira["destino_e164"] = lida["destino_e164"]
        for campo in COMPLETAVEIS:
            if primeira[campo] is None:
                primeira[campo] = lida[campo]
    colunas = [{k: v for k, v in lida.items() if k not in ("ids", "indice")} for lida in unicas.values()]
    executar(SQL_TRAVAR_REGISTRADAS, colunas)
    return {id_interno: id_ for id_, id_interno in executar(SQL_GRAVAR_MENSAGENS, colunas)}


def _gravar_identificadores(
    lidas: Sequence[dict[str, Any]], ids: dict[str, int], integracao: Integracao
) -> list[str]:
    linhas = {
        (lida["id_interno"], valor, parte): {
            "mensagem_id": ids[lida["id_interno"]],
            "integracao_id": integracao.pk,
            "valor": valor,
            "parte": parte,
            "formas": sorted(formas(valor)),
        }
        for lida in lidas
        for valor, parte in lida["ids"]
    }
    executar(SQL_GRAVAR_IDENTIFICADORES, list(linhas.values()))
    return [valor for _, valor, _ in linhas]


def _ler(cru: Any, integracao: Integracao, agora: datetime) -> dict[str, Any]:
    if not isinstance(cru, dict):
        raise RegistroInvalido("mensagem_invalida", "Cada mensagem é um objeto.")
    ids = _ler_ids(cru.get("ids_externos"))
    id_interno = _texto(cru, "id_interno", ID_CARACTERES)
    if id_interno is None and not ids:
        raise RegistroInvalido("sem_identificador", "Mande `id_interno`, `ids_externos` ou os dois.")
    aceita, modo = cru.get("aceita"), cru.get("registered_delivery")
    if aceita is not None and not isinstance(aceita, bool):
        raise RegistroInvalido("aceita_invalida", "`aceita` é true ou false.")
    if modo is not None and (not isinstance(modo, int) or isinstance(modo, bool) or not 0 <= modo <= 255):
        raise RegistroInvalido(
            "registered_delivery_invalido", "`registered_delivery` é um inteiro de 0 a 255."
        )
    destino = _texto(cru, "destino", ENDERECO_CARACTERES)
    return {
        "integracao_id": integracao.pk,
        # Sem id interno, a mensagem é a do seu primeiro id externo: registrar de novo acerta a mesma.
        "id_interno": id_interno or f"externo:{ids[0][0]}",
        "ids": ids,
        "origem": _texto(cru, "origem", ENDERECO_CARACTERES),
        "destino": destino,
        "destino_e164": normalizar_e164(destino),
        "rota": _texto(cru, "rota", ID_CARACTERES),
        "registered_delivery": modo,
        "apresentada_em": _instante(cru.get("apresentada_em")),
        "aceita": aceita,
        "criada_em": agora,
    }


def _ler_ids(crus: Any) -> list[tuple[str, int | None]]:
    if crus is None:
        return []
    if not isinstance(crus, list) or len(crus) > IDS_POR_MENSAGEM:
        raise RegistroInvalido(
            "ids_externos_invalidos", f"`ids_externos` é uma lista de até {IDS_POR_MENSAGEM}."
        )
    ids: list[tuple[str, int | None]] = []
    for cru in crus:
        valor = cru.get("valor") if isinstance(cru, dict) else cru
        parte = cru.get("parte") if isinstance(cru, dict) else None
        if not isinstance(valor, str) or len(valor) > ID_CARACTERES or "\x00" in valor:
            raise RegistroInvalido("id_externo_invalido", "O id externo é um texto de até 200 caracteres.")
        if parte is not None and (
            not isinstance(parte, int) or isinstance(parte, bool) or not 1 <= parte <= 255
        ):
            raise RegistroInvalido("parte_invalida", "`parte` é um inteiro de 1 a 255.")
        valor = valor.strip()  # os leitores também aparam: nunca um lado só
        if casavel(valor):  # "", "None" e "null" são o jeito de alguns sistemas dizerem que não há id
            ids.append((valor, parte))
    return ids


def normalizar_e164(destino: str | None) -> str | None:
    """O destino em E.164, se der para ler sem adivinhar o país; senão None (o original fica)."""
    if not destino:
        return None
    candidato = destino if destino.startswith("+") else f"+{destino.removeprefix('00')}"
    try:
        numero = phonenumbers.parse(candidato)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_possible_number(numero):
        return None
    return phonenumbers.format_number(numero, phonenumbers.PhoneNumberFormat.E164)


def _texto(cru: dict[str, Any], campo: str, limite: int) -> str | None:
    valor = cru.get(campo)
    if valor is None or valor == "":
        return None
    if not isinstance(valor, str) or len(valor) > limite or "\x00" in valor:
        raise RegistroInvalido(f"{campo}_invalido", f"`{campo}` é um texto de até {limite} caracteres.")
    return valor


def _instante(valor: Any) -> datetime | None:
    if valor is None:
        return None
    try:
        lido = datetime.fromisoformat(valor)
    except (TypeError, ValueError) as erro:
        raise RegistroInvalido("data_invalida", "Datas são ISO 8601 com fuso.") from erro
    if lido.tzinfo is None:
        raise RegistroInvalido("data_invalida", "A data precisa do fuso (Z ou -03:00).")
    try:
        return lido.astimezone(UTC)
    except OverflowError as erro:  # o ano 0 ou 10000 em UTC entraria no banco e não sairia mais
        raise RegistroInvalido("data_invalida", "A data está fora do que se pode guardar.") from erro


def gravar_verificacao(cru: Any, mensagem_id: int) -> Verificacao:
    """Grava `{origem, ocorrida_em, detalhe}`; a mesma de novo devolve a que já existe.

    Levanta `RegistroInvalido`.
    """
    if not isinstance(cru, dict):
        raise RegistroInvalido("verificacao_invalida", "A verificação é um objeto.")
    origem = _texto(cru, "origem", 120)
    if origem is None:
        raise RegistroInvalido("origem_ausente", "Diga em `origem` quem verificou.")
    ocorrida_em = _instante(cru.get("ocorrida_em"))
    if ocorrida_em is None:
        raise RegistroInvalido("ocorrida_em_ausente", "Diga em `ocorrida_em` quando foi (ISO 8601 com fuso).")
    verificacao, _ = Verificacao.objects.get_or_create(
        mensagem_id=mensagem_id,
        origem=origem,
        ocorrida_em=ocorrida_em,
        detalhe=_texto(cru, "detalhe", DETALHE_CARACTERES) or "",
    )
    return verificacao
