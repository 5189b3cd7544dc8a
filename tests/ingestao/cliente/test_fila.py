"""O que `enfileirar` devolveu está em disco: morte súbita, arquivo estragado, disco cheio, dois processos."""

import contextlib
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from ingestao.cliente import fila as fila_sql
from ingestao.cliente import quadros as quadros_sql
from ingestao.cliente.erros import FilaCheia, FilaEmUso, FilaIndisponivel, SemEspaco
from ingestao.cliente.vaga import VagaDeEnvio, ler_dono
from tests.ingestao.cliente.filas import ESPACO, abrir, ids, novo, pegar

RAIZ = Path(__file__).resolve().parents[3]


def rodar(codigo: str, *argumentos: object) -> "subprocess.Popen[str]":
    """Um processo Python de verdade, com a fila importada."""
    cabeca = "import sys\nfrom pathlib import Path\nfrom tests.ingestao.cliente.filas import *\n"
    return subprocess.Popen(
        [sys.executable, "-u", "-c", cabeca + textwrap.dedent(codigo), *map(str, argumentos)],
        cwd=RAIZ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_kill_em_laco_nao_perde_nada_do_que_foi_devolvido(tmp_path: Path) -> None:
    prometidos: list[str] = []
    for vez in range(6):
        processo = rodar(
            """
            fila = abrir(Path(sys.argv[1]))
            for n in range(int(sys.argv[2]), 10**9):
                fila.enfileirar([novo(n, b"j" * 20_000)])
                print(novo(n).id_evento, flush=True)
            """,
            tmp_path, vez * 100_000,
        )  # fmt: skip
        assert processo.stdout is not None
        vistos = [processo.stdout.readline().strip()]
        time.sleep(0.04 * vez)
        processo.send_signal(signal.SIGKILL)
        vistos += processo.stdout.read().splitlines()
        processo.wait()
        prometidos += [linha for linha in vistos if len(linha) == 9]  # a última pode ter saído pela metade

    fila = abrir(tmp_path)
    presentes = ids(fila)
    assert len(prometidos) > 6
    assert set(prometidos) <= set(presentes)
    assert len(presentes) <= len(prometidos) + 6  # no máximo um por morte foi gravado e não chegou a ser dito
    assert {len(evento.recorte or b"") for evento in pegar(fila)} == {20_000}


def test_dois_processos_enfileiram_na_mesma_fila(tmp_path: Path) -> None:
    codigo = """
        fila = abrir(Path(sys.argv[1]))
        for n in range(int(sys.argv[2]), int(sys.argv[2]) + 60):
            fila.enfileirar([novo(n)])
    """
    processos = [rodar(codigo, tmp_path, inicio) for inicio in (0, 1000, 2000)]
    for processo in processos:
        _, erros = processo.communicate(timeout=60)
        assert processo.returncode == 0, erros

    assert len(ids(abrir(tmp_path))) == 180


def test_o_segundo_que_quer_enviar_e_avisado_e_a_morte_do_primeiro_libera(tmp_path: Path) -> None:
    primeiro = rodar(
        "vaga = VagaDeEnvio(Path(sys.argv[1]))\nvaga.ocupar()\nprint('ocupou', flush=True)\ninput()", tmp_path
    )
    assert primeiro.stdout is not None
    assert primeiro.stdout.readline() == "ocupou\n"

    with pytest.raises(FilaEmUso, match=str(primeiro.pid)):
        VagaDeEnvio(tmp_path).ocupar()
    assert ler_dono(tmp_path) == primeiro.pid
    primeiro.kill()
    primeiro.wait()
    assert ler_dono(tmp_path) is None
    vaga = VagaDeEnvio(tmp_path)
    vaga.ocupar()
    assert ler_dono(tmp_path) == os.getpid()
    vaga.desocupar()


@pytest.mark.parametrize("estrago", ["lixo", "cortado", "cabecalho"])
def test_arquivo_danificado_e_posto_de_lado_relatado_e_outro_comeca(tmp_path: Path, estrago: str) -> None:
    fila = abrir(tmp_path)
    fila.enfileirar([novo(n) for n in range(50)])
    fila.fechar()
    arquivo = tmp_path / "fila.db"
    inteiro = arquivo.read_bytes()
    arquivo.write_bytes({
        "lixo": b"nada disto e um banco" * 400,
        "cortado": inteiro[: len(inteiro) // 3],
        "cabecalho": b"\0" * 100 + inteiro[100:],
    }[estrago])  # fmt: skip

    reaberta = abrir(tmp_path)
    reaberta.enfileirar([novo(900)])

    assert "id-000900" in ids(reaberta)
    assert reaberta.ler_descartes()["fila_danificada"] >= 1
    assert len(reaberta.arquivo.danificados()) == 1
    assert set(reaberta.preparar_relato().descartados) == {"fila_danificada"}


def estragar_folha(arquivo: Path, id_evento: bytes) -> None:
    """Enche de lixo a folha da tabela de eventos em que o evento está."""
    conteudo = bytearray(arquivo.read_bytes())
    folhas = [p for p in range(0, len(conteudo), 4096) if conteudo[p] == 0x0D]  # b-tree de tabela, folha
    (folha,) = [p for p in folhas if id_evento in conteudo[p : p + 4096]]
    conteudo[folha : folha + 4096] = b"\xaa" * 4096
    arquivo.write_bytes(conteudo)


def test_pagina_estragada_no_meio_perde_so_o_que_estava_nela(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    for n in range(400):
        fila.enfileirar([novo(n, b"j" * 900)])
    fila.fechar()
    estragar_folha(tmp_path / "fila.db", b"id-000200")

    reaberta = abrir(tmp_path)
    salvos = ids(reaberta)

    assert {"id-000000", "id-000399"} <= set(salvos)
    assert 300 < len(salvos) < 400
    assert reaberta.ler_descartes()["fila_danificada"] >= 1
    assert len(pegar(reaberta, 1000)) == len(salvos)


def test_estrago_achado_durante_o_uso_nao_derruba_quem_captura(tmp_path: Path) -> None:
    fila, outra = abrir(tmp_path), abrir(tmp_path)
    fila.enfileirar([novo(1)])
    with sqlite3.connect(tmp_path / "fila.db") as conexao:
        conexao.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (tmp_path / "fila.db").open("r+b") as arquivo:
        arquivo.seek(100)  # o cabeçalho fica; todo o resto, que as duas têm aberto, vira lixo
        arquivo.write(b"\xaa" * ((tmp_path / "fila.db").stat().st_size - 100))

    outra.enfileirar([novo(2)])
    fila.enfileirar([novo(3)])  # tinha o arquivo velho aberto

    assert {"id-000002", "id-000003"} <= set(ids(abrir(tmp_path)))


def test_estrago_com_o_disco_cheio_espera_haver_lugar_para_salvar(disco_pequeno: Path) -> None:
    fila = abrir(disco_pequeno, reserva_bytes=0)
    fila.enfileirar([novo(n, b"j" * 10_000) for n in range(60)])
    fila.fechar()
    estragar_folha(disco_pequeno / "fila.db", b"id-000055")
    lixo = disco_pequeno / "lixo"
    with lixo.open("wb", buffering=0) as aberto, contextlib.suppress(OSError):
        for _ in range(1000):
            aberto.write(b"x" * 4096)
    os.truncate(lixo, lixo.stat().st_size - 400_000)  # cabe um arquivo novo; o que se salva, não

    apertada = abrir(disco_pequeno, reserva_bytes=0)
    apertada.enfileirar([novo(100, None)])
    assert ids(apertada) == ["id-000100"]
    apertada.fechar()
    lixo.unlink()
    folgada = abrir(disco_pequeno, reserva_bytes=0)
    assert {"id-000000", "id-000100"} <= set(ids(folgada))
    assert len(ids(folgada)) > 10
    contado = folgada.ler_descartes()
    assert contado["fila_danificada"] >= 1
    folgada.fechar()
    assert abrir(disco_pequeno, reserva_bytes=0).ler_descartes() == contado  # uma vez só


def test_byte_trocado_no_disco_vira_quarentena_e_nao_prova_errada(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    fila.enfileirar([novo(1, b"A" * 5000), novo(2, b"B" * 5000)])
    fila.arquivo.executar(
        lambda c: c.execute("UPDATE recorte SET jpeg = ? WHERE seq = 1", (b"X" + b"A" * 4999,))
    )

    assert [evento.id_evento for evento in pegar(fila)] == ["id-000002"]
    assert fila.ler_descartes() == {"corrompido_no_disco": 1}


def test_fila_cheia_levanta_nao_grava_conta_e_apagar_abre_lugar(tmp_path: Path) -> None:
    fila = abrir(tmp_path, espaco_bytes=1024 * 1024)
    gravados = []
    with pytest.raises(FilaCheia, match="fila_bytes"):
        for n in range(1000):
            fila.enfileirar([novo(n, b"j" * 20_000)])
            gravados.append(f"id-{n:06d}")
    fila.contar_sem_espaco(1)

    assert ids(fila) == gravados
    assert 20 < len(gravados) < 60
    assert fila.ler_descartes() == {"sem_espaco": 1}
    lote, relato = fila.pegar_lote(
        max_eventos=lambda f: 10, max_bytes=ESPACO, agora_em="2026-11-30T18:00:00Z"
    )
    fila.confirmar([(evento, None) for evento in lote], relato)
    fila.enfileirar([novo(9999, b"j" * 20_000)])
    assert ids(fila) == [*gravados[10:], "id-009999"]


def test_disco_cheio_de_verdade_enfileirar_levanta_e_apagar_funciona(disco_pequeno: Path) -> None:
    fila = abrir(disco_pequeno, reserva_bytes=512 * 1024)
    gravados: list[str] = []
    with pytest.raises(SemEspaco):
        for n in range(1000):
            fila.enfileirar([novo(n, b"j" * 20_000)])
            gravados.append(f"id-{n:06d}")
    with pytest.raises(OSError):  # nem um byte livre
        (disco_pequeno / "lixo").write_bytes(b"x" * 3_000_000)
    assert ids(fila) == gravados
    assert len(gravados) > 30

    while lote := pegar(fila, 5):
        fila.confirmar([(evento, 1) for evento in lote], fila.preparar_relato())

    assert ids(fila) == []
    fila.enfileirar([novo(77, b"j" * 20_000)])  # as páginas livres do arquivo servem
    assert ids(fila) == ["id-000077"]
    fila.fechar()


def test_limite_do_sistema_na_escrita_e_erro_claro_e_nada_se_corrompe(tmp_path: Path) -> None:
    processo = rodar(
        """
        import resource, signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        fila = abrir(Path(sys.argv[1]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
        n = 0
        try:
            while n < 1000:
                fila.enfileirar([novo(n, b"j" * 20_000)])
                n += 1
        except FilaIndisponivel as erro:
            print(n, erro.codigo, flush=True)
        """,
        tmp_path,
    )
    saida, erros = processo.communicate(timeout=60)
    assert processo.returncode == 0, erros
    gravados, codigo = saida.split()

    assert codigo in ("sem_espaco", "fila_indisponivel")
    assert 0 < int(gravados) < 1000
    assert ids(abrir(tmp_path)) == [f"id-{n:06d}" for n in range(int(gravados))]


def test_cota_do_sqlite_cheia_e_sem_espaco_e_a_transacao_inteira_volta(tmp_path: Path) -> None:
    fila = abrir(tmp_path, espaco_bytes=ESPACO)
    fila.enfileirar([novo(1)])
    fila.arquivo._conexao.execute("PRAGMA max_page_count = 40")  # type: ignore[union-attr]

    with pytest.raises(SemEspaco):
        fila.enfileirar([novo(2), novo(3, b"j" * 200_000)])

    assert ids(fila) == ["id-000001"]
    fila.arquivo._conexao.execute("PRAGMA max_page_count = 40000")  # type: ignore[union-attr]
    fila.enfileirar([novo(2)])
    assert ids(fila) == ["id-000001", "id-000002"]


def test_enfileirar_e_tudo_ou_nada(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    fila.enfileirar([novo(1)])

    with pytest.raises(FilaIndisponivel):
        fila.enfileirar([novo(2), novo(1)])  # o id repetido quebra a segunda

    assert ids(fila) == ["id-000001"]


def test_recibo_repetido_nao_enfileira_de_novo(tmp_path: Path) -> None:
    fila = abrir(tmp_path)

    assert fila.enfileirar([novo(1)], recibo="a.json") is True
    assert fila.enfileirar([novo(2)], recibo="a.json") is False
    fila.esquecer_recibo("a.json")
    assert fila.enfileirar([novo(3)], recibo="a.json") is True
    assert ids(fila) == ["id-000001", "id-000003"]


def test_fila_de_versao_futura_nao_e_tocada(tmp_path: Path) -> None:
    abrir(tmp_path).fechar()
    with sqlite3.connect(tmp_path / "fila.db") as conexao:
        conexao.execute("PRAGMA user_version = 99")

    with pytest.raises(FilaIndisponivel, match="mais nova"):
        abrir(tmp_path)
    assert list(tmp_path.glob("*danificada*")) == []


def test_fechada_nao_serve_mais_e_diz_isso(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    fila.fechar()
    fila.fechar()

    with pytest.raises(FilaIndisponivel, match="fechada"):
        fila.enfileirar([novo(1)])


def test_travada_por_outro_espera_a_vez(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    with (tmp_path / "fila.trava").open() as trava:
        fcntl.flock(trava, fcntl.LOCK_SH)  # outro processo no meio de uma operação não impede a nossa
        fila.enfileirar([novo(1)])
    assert ids(fila) == ["id-000001"]


def test_espaco_volta_ao_disco_depois_de_esvaziar(tmp_path: Path) -> None:
    fila = abrir(tmp_path)
    for inicio in range(0, 800, 100):
        fila.enfileirar([novo(n, b"j" * 20_000) for n in range(inicio, inicio + 100)])
    while lote := pegar(fila):
        fila.confirmar([(evento, None) for evento in lote], fila.preparar_relato())
    cheio = (tmp_path / "fila.db").stat().st_size
    fila.arquivo.devolver_espaco()
    fila.fechar()

    assert cheio > 15_000_000
    assert (tmp_path / "fila.db").stat().st_size < 10_000_000


@pytest.mark.parametrize(
    ("sql", "indice"),
    [
        (fila_sql.SQL_PRIMEIRO, "evento_vez"),
        (fila_sql.SQL_DA_VEZ, "evento_vez"),
        (fila_sql.SQL_HA_A_PROMOVER, "evento_espera"),
        (fila_sql.SQL_PROMOVER, "evento_espera"),
        (fila_sql.SQL_DESPERTAR, "evento_espera"),
        (fila_sql.SQL_LER, "INTEGER PRIMARY KEY"),
        (quadros_sql.SQL_MAIS_VELHOS, "quadro_guardado"),
    ],
)
def test_nenhum_passo_do_envio_percorre_a_fila_inteira(tmp_path: Path, sql: str, indice: str) -> None:
    """Com cem mil na fila, um passo custa o mesmo que com dez: é o plano que garante, não o cronômetro."""
    fila = abrir(tmp_path)
    parametros = {"seq": 1, "suspeitos": 0, "limite": 5} if ":seq" in sql else (1,) * sql.count("?")
    plano = fila.arquivo.ler(lambda c: c.execute(f"EXPLAIN QUERY PLAN {sql}", parametros).fetchall())

    passos = " | ".join(str(linha[3]) for linha in plano)
    assert indice in passos
    assert "SCAN evento" not in passos and "TEMP B-TREE" not in passos
