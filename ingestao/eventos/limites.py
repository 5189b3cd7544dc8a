"""A janela deslizante de um minuto por chave: no Valkey para todos os processos, na memória sem ele.

A janela é feita de sessenta baldes de um segundo. Somar e marcar é um passo só (script no Valkey,
trava na memória), e a validade vai junto com a conta: uma queda entre as duas não deixa chave presa.
"""

import hashlib
import logging
import threading
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import redis
from django.conf import settings

from config.valkey import conectar

registro = logging.getLogger("lastro.limites")

JANELA_S = 60
DESCANSO_S = 2.0  # com o Valkey fora, só uma requisição a cada dois segundos paga a espera por ele
CHAVES_NA_MEMORIA = 10_000

# O relógio é o do Valkey: web em máquinas diferentes veem a mesma janela.
# Devolve {1, 0, balde} ou {0, segundos até caber, 0}.
_SCRIPT_CONTAR = """
local agora = tonumber(redis.call('TIME')[1])
local quantos, limite, janela = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local baldes, soma, velhos = {}, 0, {}
local todos = redis.call('HGETALL', KEYS[1])
for i = 1, #todos, 2 do
    local segundo, n = tonumber(todos[i]), tonumber(todos[i + 1])
    if segundo <= agora - janela then velhos[#velhos + 1] = todos[i]
    else baldes[#baldes + 1] = {segundo, n}; soma = soma + n end
end
if #velhos > 0 then redis.call('HDEL', KEYS[1], unpack(velhos)) end
if soma + quantos <= limite then
    redis.call('HINCRBY', KEYS[1], agora, quantos)
    redis.call('EXPIRE', KEYS[1], janela * 2)
    return {1, 0, agora}
end
table.sort(baldes, function(a, b) return a[1] < b[1] end)
for _, balde in ipairs(baldes) do
    soma = soma - balde[2]
    if soma + quantos <= limite then return {0, balde[1] + janela - agora, 0} end
end
return {0, janela, 0}
"""
# Só desfaz o que ainda está lá: uma conta negativa deixaria passar além do limite, e sem validade.
_SCRIPT_DEVOLVER = """
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('HINCRBY', KEYS[1], ARGV[1], -ARGV[2]) end
return 0
"""
_RESUMO_DO_SCRIPT = hashlib.sha1(_SCRIPT_CONTAR.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vaga:
    """Resposta da janela. `espera_s` (segundos inteiros) só tem sentido quando não `coube`.

    `balde` é o segundo em que a conta foi feita, e `na_memoria` diz onde: servem para devolver.
    """

    coube: bool
    espera_s: int = 0
    balde: int = 0
    na_memoria: bool = False


class JanelaNaMemoria:
    """A mesma janela, deste processo só. Sem relógio próprio: recebe `agora` em segundos."""

    def __init__(self) -> None:
        self._trava = threading.Lock()
        self._baldes: OrderedDict[str, deque[list[int]]] = OrderedDict()

    def contar(self, chave: str, quantos: int, limite: int, agora: int) -> Vaga:
        """Conta `quantos` se couberem no minuto que termina em `agora`; senão diz quanto esperar."""
        with self._trava:
            baldes = self._baldes.setdefault(chave, deque())
            self._baldes.move_to_end(chave)
            if len(self._baldes) > CHAVES_NA_MEMORIA:
                self._baldes.popitem(last=False)
            while baldes and baldes[0][0] <= agora - JANELA_S:
                baldes.popleft()
            soma = sum(n for _, n in baldes)
            if soma + quantos <= limite:
                if baldes and baldes[-1][0] >= agora:
                    baldes[-1][1] += quantos
                else:
                    baldes.append([agora, quantos])
                return Vaga(coube=True, balde=agora, na_memoria=True)
            for segundo, n in baldes:
                soma -= n
                if soma + quantos <= limite:
                    return Vaga(coube=False, espera_s=max(1, segundo + JANELA_S - agora))
            return Vaga(coube=False, espera_s=JANELA_S)

    def devolver(self, chave: str, quantos: int, balde: int) -> None:
        """Desfaz uma conta (o lote não pôde ser gravado)."""
        with self._trava:
            for item in self._baldes.get(chave, ()):
                if item[0] == balde:
                    item[1] = max(0, item[1] - quantos)


class Janela:
    """A janela por chave do servidor: Valkey, com queda para a memória e volta sozinha.

    Fala com o Valkey por uma conexão por thread, sem as camadas do cliente (repetição, conjunto, eventos):
    elas custavam mais que a conta, a cada POST.
    """

    def __init__(self) -> None:
        self._memoria = JanelaNaMemoria()
        self._modelo = conectar(settings.REDIS_ESPERA_S).connection_pool
        self._desta_thread = threading.local()
        self._descansa_ate = float("-inf")

    def contar(self, chave: str, quantos: int, limite: int) -> Vaga:
        """Conta `quantos` eventos da chave se couberem no minuto; senão diz quantos segundos esperar."""
        if time.monotonic() >= self._descansa_ate:
            try:
                coube, espera_s, balde = self._rodar_script(_nome(chave), quantos, limite, JANELA_S)
                return Vaga(coube=bool(coube), espera_s=max(1, int(espera_s)), balde=int(balde))
            except (redis.RedisError, OSError) as erro:
                self._descansar(erro)
        return self._memoria.contar(chave, quantos, limite, int(time.time()))

    def devolver(self, chave: str, quantos: int, vaga: Vaga) -> None:
        """Desfaz a conta de um lote que não pôde ser gravado. Melhor esforço: a janela passa em um minuto."""
        if vaga.na_memoria:
            self._memoria.devolver(chave, quantos, vaga.balde)
        elif time.monotonic() >= self._descansa_ate:
            try:
                self._perguntar("EVAL", _SCRIPT_DEVOLVER, 1, _nome(chave), vaga.balde, quantos)
            except (redis.RedisError, OSError) as erro:
                self._descansar(erro)

    def _rodar_script(self, chave: str, *argumentos: int) -> Any:
        try:
            return self._perguntar("EVALSHA", _RESUMO_DO_SCRIPT, 1, chave, *argumentos)
        except redis.exceptions.NoScriptError:  # Valkey novo ou esvaziado
            return self._perguntar("EVAL", _SCRIPT_CONTAR, 1, chave, *argumentos)

    def _perguntar(self, *comando: str | int) -> Any:
        conexao = getattr(self._desta_thread, "conexao", None)
        if conexao is None:
            conexao = self._desta_thread.conexao = self._modelo.make_connection()
        usada = conexao.is_connected
        try:
            return self._trocar(conexao, comando)
        except redis.exceptions.TimeoutError:
            conexao.disconnect()
            raise
        except (redis.exceptions.ConnectionError, OSError):
            conexao.disconnect()
            if not usada:
                raise
        return self._trocar(
            conexao, comando
        )  # a guardada tinha morrido (o Valkey reiniciou): uma nova, uma vez

    def _trocar(self, conexao: Any, comando: tuple[str | int, ...]) -> Any:
        try:
            conexao.send_command(*comando)
            return conexao.read_response()
        except redis.exceptions.ResponseError:
            raise  # uma resposta, ainda que de erro: a conexão segue boa
        except (redis.RedisError, OSError):
            conexao.disconnect()
            raise

    def _descansar(self, erro: Exception) -> None:
        self._descansa_ate = time.monotonic() + DESCANSO_S
        registro.warning("limite por minuto na memoria: valkey nao respondeu", extra={"erro": str(erro)})


def _nome(chave: str) -> str:
    return f"lastro:minuto:{chave}"
