"""A configuração: um arquivo INI, variáveis de ambiente por cima, e a linha de comando por cima de tudo.

INI e não TOML porque o Python 3.9 não lê TOML, e um dispositivo não instala biblioteca para isso. O token vem de
um arquivo ou do ambiente, nunca da linha de comando (que qualquer um lê em `ps`), e nunca é mostrado.
"""

from __future__ import annotations

import configparser
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from .captura import RegraDeRecorte
from .erros import ConfiguracaoInvalida
from .quadros import Guarda
from .remetente import Ritmo

SECAO = "captura"
PREFIXO = "LASTRO_CAPTURA_"
ARQUIVOS_PADRAO = (Path("lastro-captura.ini"), Path("/etc/lastro-captura.ini"))
ESPECIAIS = ("url", "pasta", "token_arquivo", "ca_arquivo", "entrada")

MiB = 1024 * 1024
DIA_S = 86_400


def _opcao(padrao: Any, ajuda: str, *, minimo: float = 0) -> Any:
    return field(default=padrao, metadata={"ajuda": ajuda, "minimo": minimo})


@dataclass(frozen=True)
class Opcoes:
    """Tudo o que se ajusta, com a unidade no nome. Levanta ConfiguracaoInvalida num valor que não serve."""

    margem_px: int = _opcao(16, "margem em volta da detecção")
    lado_minimo_px: int = _opcao(32, "menor lado do recorte; o que falta cresce dos dois lados", minimo=1)
    qualidade_jpeg: int = _opcao(85, "qualidade do recorte, de 1 a 95", minimo=1)
    uniao: bool = _opcao(False, "um evento com a união das detecções, em vez de um por detecção")
    guardar_quadros: bool = _opcao(True, "guardar o quadro inteiro para contestações")
    quadros_janela_s: float = _opcao(7.0 * DIA_S, "por quanto tempo um quadro fica", minimo=1)
    quadros_bytes: int = _opcao(2048 * MiB, "cota dos quadros; acima dela sai o mais velho")
    disco_livre_minimo_bytes: int = _opcao(64 * MiB, "abaixo disto os quadros dão lugar aos eventos")
    fila_bytes: int = _opcao(4096 * MiB, "espaço da fila; cheia, `capturar` levanta FilaCheia", minimo=MiB)
    reserva_bytes: int = _opcao(4 * MiB, "reserva que permite apagar com o disco cheio")
    eventos_por_lote: int = _opcao(50, "máximo de eventos por envio, até 100", minimo=1)
    bytes_por_lote: int = _opcao(4 * MiB, "máximo de bytes por envio (um evento maior vai sozinho)", minimo=1)
    teto_tentativas: int = _opcao(12, "tentativas devolvidas com erro até a quarentena", minimo=1)
    espera_base_s: float = _opcao(1.0, "primeiro intervalo do recuo; dobra a cada falha", minimo=0.001)
    espera_teto_s: float = _opcao(300.0, "maior intervalo do recuo", minimo=0.001)
    retry_after_teto_s: float = _opcao(900.0, "maior Retry-After que se obedece", minimo=1)
    espera_autenticacao_s: float = _opcao(
        300.0, "de quanto em quanto se reconfere um token recusado", minimo=0.01
    )
    pulso_s: float = _opcao(60.0, "intervalo do pulso", minimo=0.05)
    pedidos_espera_s: int = _opcao(20, "espera por pedidos de quadro, até 25; 0: só saber deles pelos ACKs")
    prazo_conexao_s: float = _opcao(10.0, "prazo para conectar", minimo=0.1)
    prazo_resposta_s: float = _opcao(60.0, "prazo sem resposta até desistir da tentativa", minimo=0.1)
    ca_arquivo: str | None = _opcao(None, "certificados da autoridade própria (PEM)")

    def __post_init__(self) -> None:
        for campo in fields(self):
            valor, minimo = getattr(self, campo.name), campo.metadata["minimo"]
            if isinstance(valor, (int, float)) and not valor >= minimo:
                raise ConfiguracaoInvalida(f"{campo.name} = {valor}: precisa ser ao menos {minimo}.")
        for nome, teto in (("eventos_por_lote", 100), ("pedidos_espera_s", 25), ("qualidade_jpeg", 95)):
            if getattr(self, nome) > teto:
                raise ConfiguracaoInvalida(f"{nome} = {getattr(self, nome)}: o máximo é {teto}.")

    def regra(self) -> RegraDeRecorte:
        """Como cortar."""
        return RegraDeRecorte(self.margem_px, self.lado_minimo_px, self.qualidade_jpeg, self.uniao)

    def guarda(self) -> Guarda:
        """Como guardar os quadros."""
        return Guarda(self.quadros_janela_s, self.quadros_bytes, self.disco_livre_minimo_bytes)

    def ritmo(self) -> Ritmo:
        """Como enviar."""
        return Ritmo(**{campo.name: getattr(self, campo.name) for campo in fields(Ritmo)})


@dataclass(frozen=True)
class Configuracao:
    """O que a linha de comando precisa. `url` e `token` podem faltar para quem só olha."""

    pasta: Path
    url: str | None
    token: str | None = field(repr=False)
    entrada: Path | None
    opcoes: Opcoes

    def exigir_servidor(self) -> tuple[str, str]:
        """URL e token. Levanta ConfiguracaoInvalida se falta algum."""
        if not self.url:
            raise ConfiguracaoInvalida(f"Falta a url: --url, {PREFIXO}URL, ou `url` no arquivo.")
        if not self.token:
            raise ConfiguracaoInvalida(
                f"Falta o token: `token_arquivo` no arquivo, {PREFIXO}TOKEN_ARQUIVO ou {PREFIXO}TOKEN."
            )
        return self.url, self.token


def ler_configuracao(
    ambiente: Mapping[str, str], *, arquivo: Path | None, linha: Mapping[str, str | None]
) -> Configuracao:
    """Junta arquivo, ambiente e linha de comando. Levanta ConfiguracaoInvalida com o nome do que está errado."""
    valores: dict[str, str] = _ler_arquivo(arquivo or _achar_arquivo(ambiente))
    conhecidos = {campo.name for campo in fields(Opcoes)} | set(ESPECIAIS)
    for nome in conhecidos:
        if (do_ambiente := ambiente.get(PREFIXO + nome.upper())) is not None:
            valores[nome] = do_ambiente
    valores.update({nome: valor for nome, valor in linha.items() if valor is not None})
    if estranhos := sorted(set(valores) - conhecidos):
        raise ConfiguracaoInvalida(f"Opções desconhecidas na configuração: {', '.join(estranhos)}.")
    return Configuracao(
        pasta=Path(valores.get("pasta") or "/var/lib/lastro-captura"),
        url=valores.get("url") or None,
        token=_ler_token(ambiente, valores.get("token_arquivo")),
        entrada=Path(valores["entrada"]) if valores.get("entrada") else None,
        opcoes=montar_opcoes({n: v for n, v in valores.items() if n not in ESPECIAIS or n == "ca_arquivo"}),
    )


def montar_opcoes(valores: Mapping[str, Any]) -> Opcoes:
    """Textos viram os tipos dos campos. Levanta ConfiguracaoInvalida num nome ou valor que não serve."""
    tipos = {campo.name: str(campo.type) for campo in fields(Opcoes)}
    if estranhas := sorted(set(valores) - set(tipos)):
        raise ConfiguracaoInvalida(f"Opções desconhecidas: {', '.join(estranhas)}.")
    return Opcoes(**{nome: _converter(nome, valor, tipos[nome]) for nome, valor in valores.items()})


def _converter(nome: str, valor: Any, tipo: str) -> Any:
    if tipo == "bool" and isinstance(valor, str):
        return _ler_booleano(nome, valor)
    if tipo not in ("int", "float") or isinstance(valor, bool):
        return valor
    try:
        return int(valor) if tipo == "int" else float(valor)
    except (TypeError, ValueError, OverflowError) as erro:
        raise ConfiguracaoInvalida(f"{nome} = {valor!r}: precisa ser um número.") from erro


def _ler_booleano(nome: str, texto: str) -> bool:
    try:
        return {"sim": True, "true": True, "1": True, "nao": False, "não": False, "false": False, "0": False}[
            texto.strip().lower()
        ]
    except KeyError:
        raise ConfiguracaoInvalida(f"{nome} = {texto!r}: use sim ou nao.") from None


def _achar_arquivo(ambiente: Mapping[str, str]) -> Path | None:
    if PREFIXO + "CONFIG" in ambiente:
        return Path(ambiente[PREFIXO + "CONFIG"])
    return next((caminho for caminho in ARQUIVOS_PADRAO if caminho.is_file()), None)


def _ler_arquivo(caminho: Path | None) -> dict[str, str]:
    if caminho is None:
        return {}
    leitor = configparser.ConfigParser(interpolation=None)
    try:
        with caminho.open(encoding="utf-8") as arquivo:
            leitor.read_file(arquivo)
        return dict(leitor[SECAO])
    except OSError as erro:
        raise ConfiguracaoInvalida(f"Não foi possível ler {caminho}: {erro.strerror}.") from erro
    except (configparser.Error, KeyError, UnicodeDecodeError) as erro:
        raise ConfiguracaoInvalida(f"{caminho} não é um INI com a seção [{SECAO}].") from erro


def _ler_token(ambiente: Mapping[str, str], token_arquivo: str | None) -> str | None:
    if do_ambiente := ambiente.get(PREFIXO + "TOKEN"):
        return do_ambiente.strip()
    if not token_arquivo:
        return None
    try:
        return Path(token_arquivo).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as erro:
        raise ConfiguracaoInvalida(f"Não foi possível ler o arquivo do token, {token_arquivo}.") from erro
