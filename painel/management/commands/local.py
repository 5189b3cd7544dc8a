"""`manage.py local`: o Lastro inteiro numa máquina, com PostgreSQL e Valkey embutidos.

Este processo nunca fala com o banco: prepara as pastas, inicia os serviços e cuida deles. Tudo o que usa o
Django roda em processos filhos, com os endereços explícitos no ambiente.
"""

import http.client
import os
import secrets
import socket
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from config.comando import Comando
from config.embutido import postgres, valkey
from config.embutido.enderecos import Enderecos, apagar_enderecos, gravar_enderecos
from config.embutido.pastas import ErroDePasta
from config.embutido.servidor import ErroDeServidor, ServidorEmbutido
from config.embutido.trava import DadosEmUso, Trava
from config.embutido.usuario import ErroDeUsuario
from config.servicos_locais import (
    descrever_beat,
    descrever_comando,
    descrever_servidor,
    descrever_web,
    descrever_worker,
)
from config.supervisao.servico import FalhaDePreparo, ParadaPedida
from config.supervisao.supervisor import Supervisor, encerrar_restos

RAIZ = Path(__file__).resolve().parents[3]
PRAZO_SERVIDOR_S = 120  # depois de uma queda, o PostgreSQL relê até 4 GB de WAL antes de responder
PRAZO_WEB_S = 90  # leva 2 a 4 s; máquina ocupada com outra coisa já passou de 20
PRAZO_PERGUNTA_S = 2
PROCESSOS_WEB = min(2, os.cpu_count() or 1)
PROCESSOS_WORKER = 2  # um aplica enquanto o outro espera o disco

ERROS_DE_PREPARO = (FalhaDePreparo, ErroDePasta, ErroDeUsuario, DadosEmUso)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pedido:
    """O que se pediu na linha de comando e no ambiente."""

    dados: Path
    endereco: str
    porta: int
    processos_web: int
    processos_worker: int


class Command(Comando):
    """Inicia tudo, mostra por onde entrar e para tudo com Ctrl-C ou SIGTERM."""

    help = "Inicia o Lastro inteiro nesta máquina: PostgreSQL e Valkey embutidos, web, worker e beat."
    requires_system_checks = []  # as verificações consultam o banco, que ainda não existe

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--processos-web", type=int, default=PROCESSOS_WEB, metavar="N")
        parser.add_argument("--processos-worker", type=int, default=PROCESSOS_WORKER, metavar="N")

    def handle(self, *args: Any, **opcoes: Any) -> None:
        pedido = ler_pedido(os.environ, opcoes)
        try:
            pedido.dados.mkdir(parents=True, exist_ok=True)
            trava = Trava(pedido.dados)
            try:
                servir(pedido)
            finally:
                apagar_enderecos(pedido.dados)
                trava.soltar()
        except ERROS_DE_PREPARO as falha:
            raise CommandError(str(falha)) from falha


def ler_pedido(ambiente: Mapping[str, str], opcoes: Mapping[str, Any]) -> Pedido:
    """Devolve o pedido; levanta CommandError se PORTA ou as quantidades não servem."""
    porta = ambiente.get("PORTA", "") or "8000"
    if not porta.isdigit() or not 0 < int(porta) < 65_536:
        raise CommandError(f"PORTA={porta} não é um número de porta: use de 1 a 65535.")
    if min(opcoes["processos_web"], opcoes["processos_worker"]) < 1:
        raise CommandError("--processos-web e --processos-worker precisam ser ao menos 1.")
    return Pedido(
        dados=Path(ambiente.get("LASTRO_DADOS", "") or RAIZ / ".local").resolve(),
        endereco=ambiente.get("LASTRO_ENDERECO", "") or "127.0.0.1",
        porta=int(porta),
        processos_web=opcoes["processos_web"],
        processos_worker=opcoes["processos_worker"],
    )


def servir(pedido: Pedido) -> None:
    """Sobe tudo e fica até pedirem para parar. Levanta um dos ERROS_DE_PREPARO se não conseguiu subir."""
    encerrar_restos(pedido.dados)  # antes de olhar a porta: podem ser eles que a seguram
    conferir_porta(pedido.endereco, pedido.porta)
    with Supervisor(pedido.dados) as supervisor:
        try:
            subir(supervisor, pedido)
            supervisor.manter()
        except ParadaPedida:
            pass
        supervisor.avisar("encerrando…")
    # As saídas já foram fechadas pelo supervisor; dizer o fim confirma que nada ficou para trás.
    supervisor.avisar("tudo encerrado")


def conferir_porta(endereco: str, porta: int) -> None:
    """Levanta FalhaDePreparo se não dá para atender ali. Antes de iniciar qualquer coisa."""
    familia = socket.AF_INET6 if ":" in endereco else socket.AF_INET
    with socket.socket(familia, socket.SOCK_STREAM) as tentativa:
        # Sem isto, conexões recém-fechadas de uma execução anterior (TIME_WAIT) pareceriam porta ocupada.
        tentativa.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tentativa.bind((endereco, porta))
        except OSError as falha:
            raise FalhaDePreparo(
                f"Não dá para atender em {endereco}:{porta} ({falha.strerror}). "
                f"Encerre quem usa a porta, ou escolha outra com PORTA."
            ) from falha


def subir(supervisor: Supervisor, pedido: Pedido) -> None:
    """Inicia na ordem em que um depende do outro e mostra o quadro de boas-vindas."""
    ambiente = montar_ambiente(pedido, garantir_segredo(pedido.dados))
    servidores = preparar_servidores(supervisor, pedido.dados, ambiente)
    for servidor in servidores:
        supervisor.iniciar(descrever_servidor(servidor))
    for servidor in servidores:
        if not supervisor.esperar(servidor.esta_pronto, PRAZO_SERVIDOR_S, passo_s=0.03):
            raise ErroDeServidor(f"{servidor.nome} não respondeu; veja registros/{servidor.nome}.log")
    gravar_enderecos(
        pedido.dados, Enderecos(banco_url=ambiente["DATABASE_URL"], redis_url=ambiente["REDIS_URL"])
    )
    senha = pedido.dados / "senha-admin.txt"
    senha_antes_ns = ler_gravacao_ns(senha)
    executar(supervisor, ambiente, "migrate", "--noinput")
    executar(supervisor, ambiente, "primeira_execucao")
    supervisor.iniciar(
        descrever_web(
            RAIZ,
            ambiente,
            endereco=pedido.endereco,
            porta=pedido.porta,
            qtd_processos=pedido.processos_web,
        )
    )
    supervisor.iniciar(descrever_worker(RAIZ, ambiente, qtd_processos=pedido.processos_worker))
    supervisor.iniciar(descrever_beat(RAIZ, ambiente))
    if not supervisor.esperar(lambda: esta_pronta(pedido), PRAZO_WEB_S):
        raise ErroDeServidor("/prontidao não respondeu 200; veja registros/web.log na pasta de dados")
    # Pelo instante, e não pela existência: um banco novo sob dados antigos regrava o arquivo.
    supervisor.escrever(montar_quadro(pedido, senha, mostrar_senha=ler_gravacao_ns(senha) != senha_antes_ns))


def ler_gravacao_ns(arquivo: Path) -> int | None:
    """Devolve quando o arquivo foi gravado (ns), ou None se não existe."""
    return arquivo.stat().st_mtime_ns if arquivo.exists() else None


def preparar_servidores(
    supervisor: Supervisor, dados: Path, ambiente: dict[str, str]
) -> list[ServidorEmbutido]:
    """Prepara os servidores que o ambiente não traz de fora e acrescenta a ele as URLs deles."""
    servidores: list[ServidorEmbutido] = []
    embutidos = (
        ("DATABASE_URL", "o PostgreSQL", postgres.preparar),
        ("REDIS_URL", "o Valkey", valkey.preparar),
    )
    for variavel, nome, preparar in embutidos:
        if ambiente.get(variavel):
            continue
        supervisor.avisar(f"preparando {nome}…")
        servidor = preparar(dados)
        ambiente[variavel] = servidor.url
        servidores.append(servidor)
    return servidores


def montar_ambiente(pedido: Pedido, segredo: str) -> dict[str, str]:
    """Devolve o ambiente dos filhos: o nosso, mais onde estão e quem são."""
    return {
        "LASTRO_SEGREDO": segredo,
        **os.environ,
        "LASTRO_DADOS": str(pedido.dados),
        "LASTRO_LOCAL": "1",
        "PORTA": str(pedido.porta),
        "PYTHONUNBUFFERED": "1",
    }


def garantir_segredo(dados: Path) -> str:
    """Devolve a SECRET_KEY desta instalação; na primeira vez a sorteia e guarda só para o dono."""
    arquivo = dados / "segredo"
    if not arquivo.exists():
        provisorio = dados / f"segredo.{os.getpid()}"
        descritor = os.open(provisorio, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descritor, "w", encoding="ascii") as aberto:
            aberto.write(secrets.token_urlsafe(48))
        provisorio.replace(arquivo)  # inteiro ou nada: um segredo pela metade invalidaria as sessões depois
    return arquivo.read_text("ascii").strip()


def executar(supervisor: Supervisor, ambiente: Mapping[str, str], nome: str, *opcoes: str) -> None:
    """Roda um comando do manage.py até o fim; levanta FalhaDePreparo se falhou (a saída já foi mostrada)."""
    codigo = supervisor.executar_uma_vez(descrever_comando(RAIZ, ambiente, nome, *opcoes))
    if codigo != 0:
        raise FalhaDePreparo(f"`manage.py {nome}` falhou com código {codigo}; a saída dele está acima.")


def esta_pronta(pedido: Pedido) -> bool:
    """Diz se /prontidao responde 200. Uma resposta 503 ou conexão recusada vale "ainda não"."""
    alvo = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(pedido.endereco, pedido.endereco)
    conexao = http.client.HTTPConnection(alvo, pedido.porta, timeout=PRAZO_PERGUNTA_S)
    try:
        conexao.request("GET", "/prontidao", headers={"Host": "localhost"})
        return conexao.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        conexao.close()


def montar_quadro(pedido: Pedido, senha: Path, *, mostrar_senha: bool) -> str:
    """Devolve o texto que diz por onde entrar. A senha só aparece na execução que a criou."""
    hospedeiro = "localhost" if pedido.endereco in {"127.0.0.1", "0.0.0.0", "::", "::1"} else pedido.endereco
    raiz = f"http://{hospedeiro}:{pedido.porta}"
    entrada = f"admin · senha {senha.read_text('utf-8').strip()}" if mostrar_senha else "admin"
    linhas = [
        ("Painel", f"{raiz}/admin/"),
        ("Entrar como", entrada),
        ("Senha guardada", str(senha)),
        ("API", f"{raiz}/api/docs"),
        ("Ingestão", f"POST {raiz}/evento/ingestao"),
        ("Demonstração", f"{raiz}/demonstracao/"),
        ("Registros", str(pedido.dados / "registros")),
    ]
    corpo = "\n".join(f"  {rotulo:<15} {valor}" for rotulo, valor in linhas)
    return f"\n  Lastro está de pé\n\n{corpo}\n\n  Ctrl-C encerra tudo\n\n"
