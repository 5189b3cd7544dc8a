"""Os bytes como chegaram: texto quando são UTF-8, hexadecimal quando não; sempre inertes.

Os bytes podem trazer telefones que nenhum leitor reconheceu. Mascarado, o texto esconde o que parece um, e
o hexadecimal, onde não há como procurar, só diz quantos bytes há. Revelado, é tudo, com trilha.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dlr.cofre import mascarar_segredos
from dlr.formatos.corpo import CorpoIlegivel, ler_parametros
from dlr.models import Ocorrencia, Recepcao
from painel.admin.ficha import Linha, mostrar_quantidade
from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar_evidencia
from painel.admin.texto_alheio import JSON_CARACTERES

HEX_BYTES = 16_384  # mil linhas de hexadecimal; quem precisa de mais lê a recepção pela API
PARAMETROS_MOSTRADOS = 100
OCORRENCIAS_MOSTRADAS = 200  # uma recepção traz no máximo algumas centenas de itens nos formatos que agrupam


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidencia:
    """O que uma recepção mostra: a chamada, a consulta separada, os cabeçalhos e o corpo."""

    recepcao: Recepcao
    linha_da_chamada: str
    parametros: list[Linha]
    cabecalhos: list[Linha]
    corpo: str
    como_esta: str


def montar_evidencia(recepcao: Recepcao, telefones: Iterable[str | None], *, inteira: bool) -> Evidencia:
    """A recepção legível; mascarada (`telefones` são os já lidos nela), a menos que `inteira`."""
    numeros = list(telefones)

    def mostrar(texto: str) -> str:
        return texto if inteira else mascarar_evidencia(texto, numeros)

    corpo, consulta = bytes(recepcao.corpo), bytes(recepcao.consulta)
    texto, como_esta = ler_bytes(corpo) if inteira or e_texto(corpo) else ("", _so_o_tamanho(corpo))
    return Evidencia(
        recepcao=recepcao,
        linha_da_chamada=mostrar(neutralizar(f"{recepcao.metodo} {recepcao.url}")),
        parametros=_parametros(consulta, mostrar),
        cabecalhos=_cabecalhos(recepcao.cabecalhos, mostrar),
        corpo=mostrar(texto),
        como_esta=como_esta,
    )


def e_texto(conteudo: bytes) -> bool:
    """Diz se os bytes são UTF-8."""
    try:
        conteudo.decode()
    except UnicodeDecodeError:
        return False
    return True


def _so_o_tamanho(conteudo: bytes) -> str:
    return f"{mostrar_quantidade(len(conteudo))} bytes que não são UTF-8, mascarados por inteiro."


def ler_bytes(conteudo: bytes) -> tuple[str, str]:
    """Os bytes legíveis e uma frase dizendo como estão mostrados."""
    tamanho = f"{mostrar_quantidade(len(conteudo))} {'byte' if len(conteudo) == 1 else 'bytes'}"
    if not conteudo:
        return "", "Sem corpo."
    try:
        texto = conteudo.decode()
    except UnicodeDecodeError:
        cortado = f"; os {mostrar_quantidade(HEX_BYTES)} primeiros" if len(conteudo) > HEX_BYTES else ""
        return escrever_hexadecimal(conteudo[:HEX_BYTES]), f"{tamanho}, não é UTF-8: em hexadecimal{cortado}."
    cortado = f"; os {mostrar_quantidade(JSON_CARACTERES)} primeiros" if len(texto) > JSON_CARACTERES else ""
    return neutralizar(texto[:JSON_CARACTERES]), f"{tamanho} em UTF-8, como chegaram{cortado}."


def escrever_hexadecimal(conteudo: bytes) -> str:
    """Dezesseis bytes por linha: posição, hexadecimal e os visíveis em ASCII."""
    linhas = []
    for inicio in range(0, len(conteudo), 16):
        pedaco = conteudo[inicio : inicio + 16]
        visiveis = "".join(chr(byte) if 0x20 <= byte < 0x7F else "·" for byte in pedaco)
        linhas.append(f"{inicio:06x}  {pedaco.hex(' '):<47}  {visiveis}")
    return "\n".join(linhas)


def _parametros(consulta: bytes, mostrar: Callable[[str], str]) -> list[Linha]:
    """A consulta separada em nome e valor; inteira numa linha se não se separa."""
    if not consulta:
        return []
    consulta = mascarar_segredos(consulta.decode("latin-1")).encode("latin-1")
    try:
        parametros: Mapping[str, str] = ler_parametros(consulta)
    except CorpoIlegivel as erro:
        return [
            Linha(rotulo=str(erro), valor=mostrar(neutralizar(consulta.decode("latin-1")[:JSON_CARACTERES])))
        ]
    return [
        Linha(rotulo=neutralizar(nome) or "(sem nome)", valor=_com_o_nome(nome, valor, mostrar))
        for nome, valor in list(parametros.items())[:PARAMETROS_MOSTRADOS]
    ]


def _com_o_nome(nome: str, valor: str, mostrar: Callable[[str], str]) -> str:
    """O valor mascarado como `nome=valor`, porque é o nome que diz que é um telefone ou um segredo."""
    prefixo = f"&{neutralizar(nome)}="
    return mostrar(prefixo + neutralizar(valor)).removeprefix(prefixo)


def _cabecalhos(cabecalhos: Any, mostrar: Callable[[str], str]) -> list[Linha]:
    if not isinstance(cabecalhos, dict):
        return []
    return [
        Linha(rotulo=neutralizar(str(nome)), valor=mostrar(neutralizar(str(valor))))
        for nome, valor in sorted(cabecalhos.items())
    ]


def listar_ocorrencias(recepcao_id: int) -> list[Ocorrencia]:
    """O que se leu de uma recepção, em ordem, com os eventos. Índice: ocorrencia_unica."""
    return list(
        Ocorrencia.objects.filter(recepcao_id=recepcao_id)
        .select_related("evento")
        .order_by("indice")[:OCORRENCIAS_MOSTRADAS]
    )


def telefones_de(ocorrencias: Iterable[Ocorrencia]) -> list[str | None]:
    """Os endereços que os eventos de uma recepção trazem."""
    eventos = [o.evento for o in ocorrencias if o.evento is not None]
    return [endereco for evento in eventos for endereco in (evento.origem, evento.destino)]
