"""A impressão digital que junta erros iguais. Puro, versionado, documentado em docs/ingestao.md.

Versão 1: SHA-256 de `tipo`, nome, mensagem normalizada e até `QUADROS` quadros da pilha
normalizados (função e arquivo, sem linha nem coluna: um deploy muda os números, não o erro). Sem
pilha, valem arquivo e nome. Mudar a regra é criar a versão 2: os grupos antigos ficam como estão.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

VERSAO = 1
QUADROS = 5  # o topo da pilha identifica; o fundo é moldura do framework
# Tetos de entrada: as expressões regulares abaixo são quadráticas no pior caso, e quem escreve o texto
# é um desconhecido. Com 500 caracteres o pior caso mediu menos de um milissegundo.
MENSAGEM_CARACTERES = 500
LINHA_CARACTERES = 400
LINHAS_DE_PILHA = 50
TITULO_CARACTERES = 300
LOCAL_CARACTERES = 300
QUATRO_FIXAS = 4  # versão, tipo, nome e mensagem vêm antes dos quadros
TIPOS_DE_ERRO = frozenset({"ERRO_JS", "PROMISE_REJEITADA"})

# O mais específico primeiro: um UUID também é feito de números e hexadecimais.
_NORMALIZACOES = (
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<uuid>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+\.[\w.-]+\b"), "<email>"),
    (re.compile(r"https?://[^\s\"'<>)]+"), "<url>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"), "<data>"),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9a-fA-F]*\d)(?=[0-9a-fA-F]*[a-fA-F])[0-9a-fA-F]{8,}\b"), "<hash>"),
    (re.compile(r"(?<![A-Za-z\d])\d+(?:[.,]\d+)*"), "<n>"),
)
# main.3f2a91bc.js, app-BkX93_aQ.mjs, chunk.1234.css: o trecho de build entre o nome e a extensão.
_BUILD = re.compile(r"[.-](?=[\w-]*\d)[\w-]{4,}(?=\.(?:m?js|cjs|css|jsx|tsx?)\b)")
_LINHA_E_COLUNA = re.compile(r"(?::\d+){1,2}$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grupo:
    """A que grupo um evento pertence e como o grupo se apresenta a pessoas."""

    versao: int
    impressao: str
    titulo: str
    local: str


def e_erro(evento: Mapping[str, Any]) -> bool:
    """ERRO_JS, PROMISE_REJEITADA, e CONSOLE de nível `error`."""
    tipo = evento["tipo"]
    return tipo in TIPOS_DE_ERRO or (tipo == "CONSOLE" and evento.get("nivel") == "error")


def agrupar(evento: Mapping[str, Any]) -> Grupo:
    """Devolve o grupo de um evento de erro (chaves `tipo nome mensagem pilha arquivo`, as quatro opcionais)."""
    nome = evento.get("nome") or ""
    mensagem = evento.get("mensagem") or ""
    partes = separar_partes(evento)
    quadros = partes[QUATRO_FIXAS:]
    impressao = imprimir(partes)
    titulo = ": ".join(parte for parte in (nome, mensagem.partition("\n")[0]) if parte) or evento["tipo"]
    local = quadros[0] if quadros else ""
    return Grupo(
        versao=VERSAO, impressao=impressao, titulo=titulo[:TITULO_CARACTERES], local=local[:LOCAL_CARACTERES]
    )


def separar_partes(evento: Mapping[str, Any]) -> list[str]:
    """As partes da impressão digital: versão, tipo, nome, mensagem normalizada e até `QUADROS` quadros."""
    quadros = _quadros(evento.get("pilha") or "")
    if not quadros and evento.get("arquivo"):
        quadros = [normalizar_arquivo(evento["arquivo"])]
    nome, mensagem = evento.get("nome") or "", evento.get("mensagem") or ""
    return ["v1", evento["tipo"], _sem_build(nome), normalizar(mensagem), *quadros]


def imprimir(partes: Sequence[str]) -> str:
    """O SHA-256 das partes, em hexadecimal."""
    return hashlib.sha256("\x1f".join(partes).encode()).hexdigest()


def normalizar(texto: str) -> str:
    """Troca o que varia de uma ocorrência para outra: UUID, e-mail, URL, data, hexadecimal, hash, número."""
    texto = texto[:MENSAGEM_CARACTERES]
    for padrao, marca in _NORMALIZACOES:
        texto = padrao.sub(marca, texto)
    return texto


def normalizar_arquivo(lugar: str) -> str:
    """O caminho do arquivo, sem origem, consulta, linha, coluna nem marca de build."""
    sem_posicao = _LINHA_E_COLUNA.sub("", lugar[:LINHA_CARACTERES].strip())
    try:
        caminho = urlsplit(sem_posicao).path or sem_posicao
    except ValueError:
        caminho = sem_posicao
    return normalizar(_sem_build(caminho))


def _sem_build(texto: str) -> str:
    return _BUILD.sub(".<build>", texto)


def _quadros(pilha: str) -> list[str]:
    """Os `QUADROS` primeiros quadros como `função arquivo`, do formato do Chrome ou do Firefox/Safari."""
    quadros: list[str] = []
    for linha in pilha.splitlines()[:LINHAS_DE_PILHA]:
        achado = _separar_quadro(linha[:LINHA_CARACTERES].strip())
        if achado is None:
            continue
        funcao, lugar = achado
        quadros.append(f"{normalizar(funcao)} {normalizar_arquivo(lugar)}".strip())
        if len(quadros) == QUADROS:
            break
    return quadros


def _separar_quadro(linha: str) -> tuple[str, str] | None:
    """`at f (lugar)`, `at lugar` ou `f@lugar` → (função, lugar); None se a linha não é um quadro."""
    if linha.startswith("at "):
        resto = linha[3:]
        if resto.endswith(")") and " (" in resto:
            funcao, _, lugar = resto[:-1].partition(" (")
            return funcao, lugar
        return "", resto
    funcao, arroba, lugar = linha.partition("@")
    return (funcao, lugar) if arroba else None
