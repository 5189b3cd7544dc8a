"""A janela deslizante de um minuto por chave: no Valkey para todos os processos, na memória sem ele.

A janela é feita de sessenta baldes de um segundo. Somar e marcar é um passo só (script no Valkey,
trava na memória), e a validade vai junto com a conta: uma queda entre as duas não deixa chave presa.
"""

import hashlib
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Sequence
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
# Conta, na ordem, as quantidades de ARGV[3] em diante, as que couberem. Devolve o balde e, para cada uma, zero
# se coube ou os segundos até caber.
_SCRIPT_CONTAR = """
local agora = tonumber(redis.call('TIME')[1])
local limite, janela = tonumber(ARGV[1]), tonumber(ARGV[2])
local baldes, soma, velhos = {}, 0, {}
local todos = redis.call('HGETALL', KEYS[1])
for i = 1, #todos, 2 do
    local segundo, n = tonumber(todos[i]), tonumber(todos[i + 1])
    if segundo <= agora - janela then velhos[#velhos + 1] = todos[i]
    else baldes[#baldes + 1] = {segundo, n}; soma = soma + n end
end
if #velhos > 0 then redis.call('HDEL', KEYS[1], unpack(velhos)) end
local resposta, entraram, ordenado = {agora}, 0, false
for i = 3, #ARGV do
    local quantos, espera = tonumber(ARGV[i]), 0
    if soma + quantos <= limite then
        soma = soma + quantos
        entraram = entraram + quantos
    else
        if not ordenado then table.sort(baldes, function(a, b) return a[1] < b[1] end); ordenado = true end
        local resto = soma
        espera = janela
        for _, balde in ipairs(baldes) do
            resto = resto - balde[2]
            if resto + quantos <= limite then espera = math.max(1, balde[1] + janela - agora); break end
        end
    end
    resposta[#resposta + 1] = espera
end
if entraram > 0 then
    redis.call('HINCRBY', KEYS[1], agora, entraram)
    redis.call('EXPIRE', KEYS[1], janela * 2)
end
return resposta
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

    def contar(self, pedidos: Sequence[tuple[str, int]], limite: int) -> list[Vaga]:
        """Conta, na ordem, cada (chave, eventos) que couber no minuto da chave; aos outros diz quanto esperar.

        Uma ida ao Valkey, com todas as chaves.
        """
        if not pedidos:
            return []
        if time.monotonic() >= self._descansa_ate:
            try:
                return self._contar_no_valkey(pedidos, limite)
            except (redis.RedisError, OSError) as erro:
                self._descansar(erro)
        agora = int(time.time())
        return [self._memoria.contar(chave, quantos, limite, agora) for chave, quantos in pedidos]

    def _contar_no_valkey(self, pedidos: Sequence[tuple[str, int]], limite: int) -> list[Vaga]:
        por_chave: dict[str, list[int]] = {}
        for chave, quantos in pedidos:
            por_chave.setdefault(chave, []).append(quantos)
        contas: list[tuple[str | int, ...]] = [
            (_nome(chave), limite, JANELA_S, *quantos) for chave, quantos in por_chave.items()
        ]
        esperas = {}
        for chave, (balde, *espera_s) in zip(por_chave, self._rodar_script(contas), strict=True):
            esperas[chave] = int(balde), iter(espera_s)
        vagas = []
        for chave, _ in pedidos:
            balde, em_ordem = esperas[chave]
            espera_s = int(next(em_ordem))
            vagas.append(Vaga(coube=espera_s == 0, espera_s=max(1, espera_s), balde=balde))
        return vagas

    def devolver(self, chave: str, quantos: int, vaga: Vaga) -> None:
        """Desfaz a conta de um lote que não pôde ser gravado. Melhor esforço: a janela passa em um minuto."""
        if vaga.na_memoria:
            self._memoria.devolver(chave, quantos, vaga.balde)
        elif time.monotonic() >= self._descansa_ate:
            try:
                self._perguntar(("EVAL", _SCRIPT_DEVOLVER, 1, _nome(chave), vaga.balde, quantos))
            except (redis.RedisError, OSError) as erro:
                self._descansar(erro)

    def _rodar_script(self, contas: Sequence[tuple[str | int, ...]]) -> list[Any]:
        comandos = [("EVALSHA", _RESUMO_DO_SCRIPT, 1, *conta) for conta in contas]
        try:
            return self._perguntar(*comandos)
        except redis.exceptions.NoScriptError:  # Valkey novo ou esvaziado: nenhuma foi contada
            return self._perguntar(*(("EVAL", _SCRIPT_CONTAR, 1, *conta) for conta in contas))

    def _perguntar(self, *comandos: tuple[str | int, ...]) -> list[Any]:
        """Manda todos os comandos e só então lê as respostas, na ordem."""
        conexao = getattr(self._desta_thread, "conexao", None)
        if conexao is None:
            conexao = self._desta_thread.conexao = self._modelo.make_connection()
        usada = conexao.is_connected
        try:
            return self._trocar(conexao, comandos)
        except redis.exceptions.TimeoutError:
            raise
        except (redis.exceptions.ConnectionError, OSError):
            if not usada:
                raise
        # A guardada tinha morrido (o Valkey reiniciou): uma nova, uma vez.
        return self._trocar(conexao, comandos)

    def _trocar(self, conexao: Any, comandos: Sequence[tuple[str | int, ...]]) -> list[Any]:
        try:
            conexao.send_packed_command(conexao.pack_commands(comandos))
            respostas = [_ler_resposta(conexao) for _ in comandos]
        except (redis.RedisError, OSError):
            conexao.disconnect()
            raise
        for resposta in respostas:
            if isinstance(resposta, redis.exceptions.ResponseError):
                raise resposta  # uma resposta, ainda que de erro: a conexão segue boa
        return respostas

    def _descansar(self, erro: Exception) -> None:
        self._descansa_ate = time.monotonic() + DESCANSO_S
        registro.warning("limite por minuto na memoria: valkey nao respondeu", extra={"erro": str(erro)})


def _ler_resposta(conexao: Any) -> Any:
    """A resposta de um comando; um erro dele é devolvido, para que as seguintes também sejam lidas."""
    try:
        return conexao.read_response()
    except redis.exceptions.ResponseError as erro:
        return erro


def _nome(chave: str) -> str:
    return f"lastro:minuto:{chave}"
