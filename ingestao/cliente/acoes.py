"""O que cada comando faz. Cada função devolve o código de saída: 0 deu certo, 3 ficou algo na fila."""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cliente import Cliente
from .configuracao import Configuracao
from .contadores import MOTIVO_OPERADOR
from .entrada import IMAGENS, achar_imagem, colher, ler_bilhete
from .erros import CapturaInvalida, ErroDoCliente, FilaEmUso, FilaIndisponivel
from .fila import Fila
from .situacao import escrever_situacao, medir_situacao

logger = logging.getLogger("lastro_captura")

FICOU_NA_FILA = 3
OLHAR_ENTRADA_S = 0.5


def enviar(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Captura o que se deu (se algo se deu) e esvazia a fila, mostrando o andamento."""
    with _abrir(configuracao, exigir_envio=False) as cliente:
        ids = [id_ for caminho in _imagens(pedido.imagens) for id_ in _capturar(cliente, caminho, pedido)]
    for id_evento in ids:
        print(id_evento)
    try:
        with _abrir(configuracao, exigir_envio=True) as cliente:
            _parar_com_sinal(cliente)
            esvaziou = cliente.esperar_esvaziar(pedido.prazo, ao_andar=_Andamento())
            quarentena = cliente.fila.medir().quarentena
    except FilaEmUso as erro:
        print(f"{erro} O que foi capturado está na fila, e ele o enviará.", file=sys.stderr)
        return 0 if ids else FICOU_NA_FILA
    if quarentena:
        print(f"{quarentena} em quarentena: veja lastro-captura quarentena listar.", file=sys.stderr)
    return 0 if esvaziou else FICOU_NA_FILA


def servir(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Envia até receber SIGTERM ou Ctrl-C; vigia a pasta de entrada, se há."""
    with _abrir(configuracao, exigir_envio=True) as cliente:
        fim = _parar_com_sinal(cliente)
        print(f"Enviando a fila de {configuracao.pasta} para {configuracao.url}.", flush=True)
        while not fim.wait(OLHAR_ENTRADA_S):
            if not cliente.enviando and cliente.remetente is not None:
                print("O envio parou por um defeito; saindo para ser reiniciado.", file=sys.stderr)
                return 1
            if configuracao.entrada is not None:
                _colher(cliente, configuracao.entrada)
        print("Encerrando; o que falta fica na fila.", flush=True)
    return 0


def mostrar_situacao(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Imprime o retrato da fila."""
    if not (configuracao.pasta / "fila.db").exists():
        print(json.dumps({"pasta": str(configuracao.pasta), "fila": None}) if pedido.json else
              f"Ainda não há fila em {configuracao.pasta}: nada foi capturado.")  # fmt: skip
        return 0
    retrato = medir_situacao(configuracao.pasta, configuracao.opcoes)
    print(json.dumps(retrato, ensure_ascii=False) if pedido.json else escrever_situacao(retrato))
    return 0


def listar_quarentena(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Imprime um evento por linha."""
    with _Quarentena(configuracao) as fila:
        for item in fila.quarentena.listar():
            if pedido.json:
                print(json.dumps(item.__dict__, ensure_ascii=False))
            else:
                print(f"{item.id_evento}  {item.motivo}  {item.quarentena_em}  {item.detalhe}")
    return 0


def reenfileirar(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Devolve eventos à vez, com a mesma identidade e um ciclo novo de tentativas."""
    with _Quarentena(configuracao) as fila:
        quantos = fila.quarentena.reenfileirar(_escolher(fila, pedido))
    print(f"{quantos} de volta à fila.")
    return 0 if quantos else 1


def descartar(configuracao: Configuracao, pedido: argparse.Namespace) -> int:
    """Apaga eventos da quarentena; o descarte é contado e chega ao servidor."""
    with _Quarentena(configuracao) as fila:
        quantos = fila.quarentena.descartar(_escolher(fila, pedido), pedido.motivo or MOTIVO_OPERADOR)
    print(f"{quantos} descartados.")
    return 0 if quantos else 1


def _escolher(fila: Fila, pedido: argparse.Namespace) -> list[str]:
    if pedido.todos:
        return [item.id_evento for item in fila.quarentena.listar()]
    return list(pedido.ids)


class _Quarentena:
    """A fila aberta só para a quarentena."""

    def __init__(self, configuracao: Configuracao) -> None:
        opcoes = configuracao.opcoes
        self._fila = Fila(
            configuracao.pasta,
            espaco_bytes=opcoes.fila_bytes,
            reserva_bytes=opcoes.reserva_bytes,
            criar=False,
        )

    def __enter__(self) -> Fila:
        return self._fila

    def __exit__(self, *_: object) -> None:
        self._fila.fechar()


class _Andamento:
    """Uma linha que se reescreve no terminal; fora dele, uma linha a cada dez mudanças de casa."""

    def __init__(self) -> None:
        self._inicio: int | None = None
        self._ultimo = -1

    def __call__(self, faltam: int) -> None:
        self._inicio = max(self._inicio or 0, faltam)
        passo = max(1, self._inicio // 20)
        if self._inicio < 2 or (faltam and abs(faltam - self._ultimo) < passo):
            return
        self._ultimo = faltam
        fim = "\r" if sys.stderr.isatty() and faltam else "\n"
        print(f"enviados {self._inicio - faltam} de {self._inicio}…", file=sys.stderr, end=fim, flush=True)


def _abrir(configuracao: Configuracao, *, exigir_envio: bool) -> Cliente:
    url, token = configuracao.exigir_servidor()
    if url.startswith("http://") and not url.startswith(("http://127.0.0.1", "http://localhost")):
        logger.warning("a url não é https: o token e as imagens viajam abertos")
    return Cliente(
        url,
        token,
        configuracao.pasta,
        enviar=exigir_envio,
        exigir_envio=exigir_envio,
        **vars(configuracao.opcoes),
    )


def _parar_com_sinal(cliente: Cliente) -> threading.Event:
    fim = threading.Event()

    def parar(*_: object) -> None:
        fim.set()
        cliente.pedir_parada()

    for sinal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sinal, parar)
    return fim


def _colher(cliente: Cliente, entrada: Path) -> None:
    try:
        colher(cliente, entrada)
    except (
        FilaIndisponivel,
        OSError,
    ) as erro:  # os arquivos ficam onde estão; a próxima olhada tenta de novo
        logger.error("a pasta de entrada espera: %s", erro)


def _imagens(caminhos: list[Path]) -> Iterator[Path]:
    for caminho in caminhos:
        if caminho.is_dir():
            yield from sorted(filho for filho in caminho.iterdir() if filho.suffix.lower() in IMAGENS)
        elif caminho.is_file():
            yield caminho
        else:
            raise CapturaInvalida(f"{caminho} não existe.")


def _capturar(cliente: Cliente, imagem: Path, pedido: argparse.Namespace) -> list[str]:
    """Uma imagem: com o JSON de mesmo nome ao lado, se há, e o que a linha de comando disse por cima."""
    caixas: list[Any] | None = None
    payload: Any = {"arquivo": imagem.name}
    bilhete = imagem.with_suffix(".json")
    if bilhete.is_file() and achar_imagem(bilhete) == imagem:
        caixas, payload = ler_bilhete(bilhete)
    return cliente.capturar(imagem, pedido.caixa or caixas, pedido.payload or payload)


def dizer_erro(erro: ErroDoCliente) -> int:
    """Imprime o erro para pessoas, com o código estável; devolve o código de saída."""
    print(f"lastro-captura: {erro} [{erro.codigo}]", file=sys.stderr)
    return 2
