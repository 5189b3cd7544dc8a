"""Os ajustes do PostgreSQL embutido: o que mudamos do padrão, e por quê."""

import os
import subprocess
from pathlib import Path

MIB = 1024 * 1024
MAX_MEMORIA_COMPARTILHADA_BYTES = 1024 * MIB  # acima disto, numa máquina só, o cache do sistema rende mais

FIXOS = {
    # Só o soquete da pasta 0700: nada na rede, nem em 127.0.0.1.
    "listen_addresses": "''",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    # A primeira lei: 2xx só depois do COMMIT em disco.
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    # Recebimento é escrita em rajada: checkpoints raros evitam regravar páginas inteiras no WAL.
    "max_wal_size": "4GB",
    "min_wal_size": "256MB",
    "checkpoint_timeout": "15min",
    "checkpoint_completion_target": "0.9",
    # Consultas curtas: compilar custa mais do que poupa. O disco local de hoje é SSD.
    "jit": "off",
    "random_page_cost": "1.1",
    # A caixa de entrada insere e apaga o tempo todo; vácuo tardio incha justo a tabela mais lida.
    "autovacuum_naptime": "10s",
    "autovacuum_vacuum_cost_limit": "2000",
    "timezone": "'UTC'",
    "log_timezone": "'UTC'",
    # Quem supervisiona guarda a saída de erro; aqui só o que merece atenção.
    "log_destination": "'stderr'",
    "logging_collector": "off",
    "log_min_messages": "warning",
    # Instrução e detalhe de erro trazem o que foi recebido (telefone, conteúdo): não vão para registro.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
}


def ler_memoria_bytes() -> int:
    """Devolve a memória que podemos usar: a da máquina ou o limite do contêiner, o que for menor."""
    maquina = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        limite = Path("/sys/fs/cgroup/memory.max").read_text("ascii").strip()
    except OSError:
        return maquina
    return min(maquina, int(limite)) if limite.isdigit() else maquina


def tem_lz4(pasta_binarios: Path, ambiente: dict[str, str]) -> bool:
    """Diz se o binário foi compilado com lz4; pedir sem ter impediria o servidor de iniciar."""
    comando = [str(pasta_binarios / "pg_config"), "--configure"]
    saida = subprocess.run(comando, env=ambiente, capture_output=True, text=True, check=True).stdout
    return "--with-lz4" in saida


def montar_ajustes(*, memoria_bytes: int, lz4: bool, soquetes: Path, nome_grupo: str) -> dict[str, str]:
    """Devolve os ajustes, nome e valor como o postgresql.conf os escreve."""
    compartilhada_mb = max(32, min(memoria_bytes // 4, MAX_MEMORIA_COMPARTILHADA_BYTES) // MIB)
    return {
        **FIXOS,
        "unix_socket_directories": _citar(str(soquetes)),
        # Aparece no título de cada processo: é por ele que se acham os órfãos destes dados.
        "cluster_name": _citar(nome_grupo),
        "shared_buffers": f"{compartilhada_mb}MB",
        # O pglz custa mais que escrever a página: com dez milhões de eventos guardados, cada evento novo toca uma
        # página fria do índice, e comprimi-la dobrava a CPU do banco (66 → 34 µs por evento, 12,8 → 20,9 mil/s).
        "wal_compression": "lz4" if lz4 else "off",
        "default_toast_compression": "lz4" if lz4 else "pglz",
    }


def escrever_conf(arquivo: Path, pasta: Path, ajustes: dict[str, str]) -> None:
    """Regrava o arquivo de configuração: o do initdb primeiro, os nossos ajustes por cima.

    Fica fora da pasta de dados porque ela é de outro usuário, e root não escreve em pasta alheia (um link
    plantado ali escolheria o que sobrescrever).
    """
    linhas = [
        "# Regravado a cada início: edite o postgresql.conf da pasta de dados, ou use DATABASE_URL.",
        f"include {_citar(str(pasta / 'postgresql.conf'))}",
        *(f"{nome} = {valor}" for nome, valor in ajustes.items()),
    ]
    arquivo.write_text("\n".join(linhas) + "\n", "utf-8")
    arquivo.chmod(0o644)  # o usuário do banco precisa ler, mesmo que o umask de quem chamou seja 077


def _citar(valor: str) -> str:
    return "'" + valor.replace("'", "''") + "'"
