"""A linha de comando, em processos de verdade."""

import ast
import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
import uuid
import venv
from pathlib import Path

import pytest

from ingestao.cliente.envio import VERSAO
from ingestao.cliente.fila import Fila
from tests.ingestao.cliente.conftest import TOKEN, desenhar_quadro
from tests.ingestao.cliente.filas import abrir, novo
from tests.ingestao.cliente.servidor import Responder, Servidor

RAIZ = Path(__file__).resolve().parents[3]
PACOTE = RAIZ / "ingestao" / "cliente"
PRAZO_S = 60
QUANTOS = 2_000  # 40 MB na fila: guardá-los na memória, ou uma parte deles, apareceria
MAX_MB = 60  # o alvo do cliente, com cem mil na fila


def ambiente(pasta: Path, **mais: str) -> dict[str, str]:
    limpo = {nome: valor for nome, valor in os.environ.items() if not nome.startswith("LASTRO_")}
    return {
        **limpo,
        "LASTRO_CAPTURA_PASTA": str(pasta),
        "LASTRO_CAPTURA_PULSO_S": "0.2",
        "LASTRO_CAPTURA_ESPERA_BASE_S": "0.05",
        "LASTRO_CAPTURA_PEDIDOS_ESPERA_S": "0",
        **mais,
    }


def com_servidor(servidor: Servidor) -> dict[str, str]:
    return {"LASTRO_CAPTURA_URL": servidor.url, "LASTRO_CAPTURA_TOKEN": TOKEN}


def rodar(pasta: Path, *argumentos: str, **mais: str) -> "subprocess.CompletedProcess[str]":
    fim = subprocess.run(
        [sys.executable, "-m", "ingestao.cliente", *argumentos],
        cwd=RAIZ, env=ambiente(pasta, **mais), capture_output=True, text=True, timeout=PRAZO_S, check=False,
    )  # fmt: skip
    assert "Traceback" not in fim.stderr, fim.stderr
    assert TOKEN not in fim.stdout + fim.stderr
    return fim


def test_enviar_uma_imagem_esvazia_e_sai(pasta: Path, servidor: Servidor, tmp_path: Path) -> None:
    imagem = tmp_path / "placa.jpg"
    imagem.write_bytes(desenhar_quadro())
    fim = rodar(
        pasta, "enviar", str(imagem), "--caixa", "10,10,50,30", "--caixa", "70,10,20,20",
        "--payload", '{"placa": "ABC1D23"}', **com_servidor(servidor),
    )  # fmt: skip

    assert fim.returncode == 0, fim.stderr
    assert sorted(fim.stdout.split()) == sorted(servidor.mundo.gravados)
    eventos = [e for r in servidor.mundo.recebidos for e in r.lote["eventos"]]
    assert [e["payload"] for e in eventos] == [{"placa": "ABC1D23"}] * 2
    assert len(servidor.mundo.recortes) == 2


def test_enviar_pasta_usa_o_json_ao_lado(pasta: Path, servidor: Servidor, tmp_path: Path) -> None:
    for n in range(3):
        (tmp_path / f"{n}.jpg").write_bytes(desenhar_quadro(cor=n))
    (tmp_path / "1.json").write_text('{"caixas": [[1, 2, 30, 40]], "payload": {"do": "json"}}')
    fim = rodar(pasta, "enviar", str(tmp_path), **com_servidor(servidor))

    assert fim.returncode == 0, fim.stderr
    payloads = [e["payload"] for r in servidor.mundo.recebidos for e in r.lote["eventos"]]
    assert payloads == [{"arquivo": "0.jpg"}, {"do": "json"}, {"arquivo": "2.jpg"}]


def test_enviar_sem_link_deixa_na_fila_e_diz_pelo_codigo(pasta: Path, tmp_path: Path) -> None:
    imagem = tmp_path / "a.jpg"
    imagem.write_bytes(desenhar_quadro())
    fim = rodar(
        pasta, "enviar", str(imagem), "--prazo", "0.3",
        LASTRO_CAPTURA_URL="http://127.0.0.1:1", LASTRO_CAPTURA_TOKEN=TOKEN,
    )  # fmt: skip

    assert fim.returncode == 3
    retrato = json.loads(rodar(pasta, "situacao", "--json").stdout)
    assert retrato["fila"]["prontos"] + retrato["fila"]["esperando"] == 1
    assert retrato["enviando_pid"] is None


def test_servir_envia_vigia_a_entrada_e_encerra_com_sigterm(
    pasta: Path, servidor: Servidor, tmp_path: Path
) -> None:
    entrada = tmp_path / "entrada"
    entrada.mkdir()
    (entrada / "b.jpg").write_bytes(desenhar_quadro())
    (entrada / "b.json").write_text('{"caixas": [[1, 2, 30, 40]], "payload": {"n": 1}}')
    (entrada / "ruim.jpg").write_bytes(desenhar_quadro())
    (entrada / "ruim.json").write_text('{"caixas": 7')
    processo = subprocess.Popen(
        [sys.executable, "-m", "ingestao.cliente", "servir", "--entrada", str(entrada)],
        cwd=RAIZ, env=ambiente(pasta, **com_servidor(servidor)), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    limite = time.monotonic() + PRAZO_S
    while len(servidor.mundo.gravados) < 1 or len(servidor.mundo.pulsos) < 2:
        assert time.monotonic() < limite and processo.poll() is None
        time.sleep(0.05)
    segundo = rodar(pasta, "servir", **com_servidor(servidor))
    situacao = rodar(pasta, "situacao")
    listagem = rodar(pasta, "quarentena", "listar")
    processo.send_signal(signal.SIGTERM)
    _, erros = processo.communicate(timeout=PRAZO_S)

    assert processo.returncode == 0, erros
    assert "Traceback" not in erros
    assert segundo.returncode == 2
    assert str(processo.pid) in segundo.stderr and "fila_em_uso" in segundo.stderr
    assert f"processo {processo.pid}" in situacao.stdout
    assert listagem.returncode == 0
    assert sorted(c.name for c in entrada.iterdir()) == ["recusados"]
    assert sorted(c.name for c in (entrada / "recusados").iterdir()) == ["ruim.jpg", "ruim.json"]


def test_quarentena_lista_reenfileira_e_descarta_contando(
    pasta: Path, servidor: Servidor, tmp_path: Path
) -> None:
    for n in range(3):
        (tmp_path / f"{n}.jpg").write_bytes(desenhar_quadro())
    servidor.mundo.julgar = lambda evento: {"situacao": "invalido", "codigo": "campo_invalido", "detail": "x"}
    fim = rodar(pasta, "enviar", str(tmp_path), **com_servidor(servidor))
    um, outro, terceiro = fim.stdout.split()
    assert "3 em quarentena" in fim.stderr

    itens = [
        json.loads(linha) for linha in rodar(pasta, "quarentena", "listar", "--json").stdout.splitlines()
    ]
    assert [(item["id_evento"], item["motivo"]) for item in itens] == [
        (um, "invalido"), (outro, "invalido"), (terceiro, "invalido"),
    ]  # fmt: skip
    assert (
        rodar(pasta, "quarentena", "descartar", um, "--motivo", "foto_de_teste").stdout == "1 descartados.\n"
    )
    assert rodar(pasta, "quarentena", "reenfileirar", outro).stdout == "1 de volta à fila.\n"
    assert rodar(pasta, "quarentena", "reenfileirar", "nao-existe").returncode == 1
    servidor.mundo.julgar = lambda evento: None
    assert rodar(pasta, "enviar", **com_servidor(servidor)).returncode == 0

    assert list(servidor.mundo.gravados) == [outro]
    assert servidor.mundo.descartados() == {"invalido": 3, "foto_de_teste": 1}
    retrato = json.loads(rodar(pasta, "situacao", "--json").stdout)
    assert retrato["quarentena_por_motivo"] == {"invalido": 1}
    assert retrato["descartes"] == {"foto_de_teste": 1, "invalido": 3}


def test_situacao_mostra_o_alarme_do_token(pasta: Path, servidor: Servidor, tmp_path: Path) -> None:
    recusa = Responder(status=403, codigo="dispositivo_revogado")
    servidor.mundo.sempre, servidor.mundo.no_pulso = lambda recebido: recusa, lambda pulso: recusa
    (tmp_path / "a.jpg").write_bytes(desenhar_quadro())
    rodar(pasta, "enviar", str(tmp_path / "a.jpg"), "--prazo", "1", **com_servidor(servidor))

    saida = rodar(pasta, "situacao").stdout
    assert "ALARME" in saida and "dispositivo_revogado" in saida
    assert "Por enviar: 1" in saida


@pytest.mark.parametrize(
    ("argumentos", "codigo", "frase"),
    [
        (("enviar",), 2, "Falta a url"),
        (("enviar", "--url", "http://127.0.0.1:1"), 2, "Falta o token"),
        (("situacao", "--config", "/nao/existe.ini"), 2, "configuracao_invalida"),
        (("quarentena", "listar"), 2, "Não há fila"),
        (("situacao",), 0, ""),
        (("dancar",), 2, "invalid choice"),
        (("enviar", "--caixa", "1,2"), 2, "quatro números"),
    ],
)
def test_erro_de_quem_chamou_diz_o_que_fazer(
    tmp_path: Path, argumentos: tuple[str, ...], codigo: int, frase: str
) -> None:
    fim = rodar(tmp_path / "vazia", *argumentos)

    assert fim.returncode == codigo
    assert frase in fim.stderr


def test_memoria_do_cliente_fica_plana_numa_fila_grande(pasta: Path, servidor: Servidor) -> None:
    recorte = desenhar_quadro()[:2] + os.urandom(20_000)
    fila = abrir(pasta, espaco_bytes=10**9)
    for inicio in range(0, QUANTOS, 500):
        fila.enfileirar([novo(n, recorte, id_evento=str(uuid.uuid4())) for n in range(inicio, inicio + 500)])
    fila.fechar()
    processo = subprocess.Popen(
        [sys.executable, "-m", "ingestao.cliente", "enviar"],
        cwd=RAIZ, env=ambiente(pasta, **com_servidor(servidor)), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    maior_mb = 0.0
    while processo.poll() is None:  # o getrusage do filho traria o tamanho do pytest, de antes do exec
        maior_mb = max(maior_mb, ler_pico_mb(processo.pid))
        time.sleep(0.02)
    _, andamento = processo.communicate()

    assert processo.returncode == 0, andamento
    assert len(servidor.mundo.gravados) == QUANTOS
    assert 10 < maior_mb < MAX_MB
    assert f"enviados {QUANTOS} de {QUANTOS}" in andamento


def ler_pico_mb(pid: int) -> float:
    """O maior tamanho residente do processo até agora; zero se ele acabou de sair."""
    try:
        estado = Path(f"/proc/{pid}/status").read_text("ascii")
    except OSError:
        return 0.0
    pico = re.search(r"VmHWM:\s+(\d+) kB", estado)
    return int(pico.group(1)) / 1024 if pico else 0.0


def test_arquivo_ini_com_token_em_outro_arquivo(pasta: Path, servidor: Servidor, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN + "\n")
    (tmp_path / "c.ini").write_text(
        f"[captura]\nurl = {servidor.url}\ntoken_arquivo = {tmp_path / 'token'}\nuniao = sim\nmargem_px = 0\n"
    )
    (tmp_path / "a.jpg").write_bytes(desenhar_quadro())
    fim = rodar(
        pasta, "enviar", "--config", str(tmp_path / "c.ini"), str(tmp_path / "a.jpg"),
        "--caixa", "10,10,40,40", "--caixa", "60,60,40,40",
    )  # fmt: skip

    assert fim.returncode == 0, fim.stderr
    (evento,) = servidor.mundo.recebidos[0].lote["eventos"]
    assert evento["caixa"] == {"x": 10, "y": 10, "largura": 90, "altura": 90, "margem": 0}


def test_opcao_desconhecida_no_ini_e_apontada(pasta: Path, tmp_path: Path) -> None:
    (tmp_path / "c.ini").write_text("[captura]\nmargen_px = 3\n")
    fim = rodar(pasta, "situacao", "--config", str(tmp_path / "c.ini"))

    assert fim.returncode == 2
    assert "margen_px" in fim.stderr


def test_exemplo_de_configuracao_e_valido(pasta: Path, tmp_path: Path) -> None:
    exemplo = (PACOTE / "exemplos" / "lastro-captura.ini").read_text()
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "c.ini").write_text(exemplo.replace("/etc/lastro-captura.token", str(tmp_path / "token")))

    assert rodar(pasta, "situacao", "--config", str(tmp_path / "c.ini")).returncode == 0


def test_pacote_se_instala_sozinho_e_roda_sem_django(tmp_path: Path) -> None:
    """Instala numa pasta virgem, com só as duas dependências ao lado, e roda o comando instalado."""
    destino, fonte = tmp_path / "venv", tmp_path / "fonte"
    venv.create(destino, symlinks=True, with_pip=False)
    subprocess.run(["cp", "-r", str(PACOTE), str(fonte)], check=True)
    subprocess.run(
        [sys.executable, "-c", "import setuptools; setuptools.setup()", "-q", "install",
         "--single-version-externally-managed", f"--prefix={destino}", "--record", str(tmp_path / "registro")],
        cwd=fonte, check=True, capture_output=True, timeout=PRAZO_S,
    )  # fmt: skip
    (pacotes,) = (destino / "lib").glob("python3*/site-packages")
    for nome in ("PIL", "urllib3", "pillow.libs"):
        origem = Path(pytest.importorskip("PIL").__file__).parent.parent / nome
        if origem.exists():
            (pacotes / nome).symlink_to(origem)
    comando = destino / "bin" / "lastro-captura"
    texto = comando.read_text().splitlines()
    comando.write_text("\n".join([f"#!{destino / 'bin' / 'python'}", *texto[1:]]))
    limpo = {"PATH": os.environ["PATH"], "LASTRO_CAPTURA_PASTA": str(tmp_path / "fila")}
    Fila(tmp_path / "fila", espaco_bytes=10**8, reserva_bytes=0).fechar()

    fim = subprocess.run(
        [str(comando), "situacao", "--json"],
        env=limpo,
        capture_output=True,
        text=True,
        timeout=PRAZO_S,
        check=False,
    )
    sem_django = subprocess.run(
        [str(destino / "bin" / "python"), "-c",
         "import sys, lastro_captura, lastro_captura.comando\n"
         "print(sorted({m.split('.')[0] for m in sys.modules} & {'django', 'ingestao', 'celery', 'psycopg'}))\n"
         "import django"],
        env=limpo, capture_output=True, text=True, timeout=PRAZO_S, check=False,
    )  # fmt: skip

    assert fim.returncode == 0, fim.stderr
    assert json.loads(fim.stdout)["fila"]["prontos"] == 0
    assert sem_django.stdout == "[]\n"
    assert "ModuleNotFoundError" in sem_django.stderr  # e o Django nem está ao alcance


def test_versao_do_pacote_e_a_que_vai_no_pulso() -> None:
    projeto = tomllib.loads((PACOTE / "pyproject.toml").read_text("utf-8"))["project"]

    assert projeto["version"] == VERSAO
    assert {d.split(">")[0] for d in projeto["dependencies"]} == {"pillow", "urllib3"}


def test_o_codigo_e_lido_por_python_3_9_e_so_importa_o_permitido() -> None:
    permitidas = {"PIL", "urllib3"} | sys.stdlib_module_names
    for caminho in PACOTE.glob("*.py"):
        arvore = ast.parse(caminho.read_text("utf-8"), feature_version=(3, 9))
        for no in ast.walk(arvore):
            nomes = [apelido.name for apelido in no.names] if isinstance(no, ast.Import) else []
            if isinstance(no, ast.ImportFrom) and no.level == 0:
                nomes.append(no.module or "")
            assert {nome.split(".")[0] for nome in nomes} <= permitidas, caminho.name
        assert "from __future__ import annotations" in caminho.read_text("utf-8") or caminho.stem.startswith(
            "__"
        )
