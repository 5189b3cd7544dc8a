# Os comandos do Lastro. Cada um serve numa máquina que só tem Python 3.11 ou mais novo e make.

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -q install --require-hashes --no-deps -r

.PHONY: run test bench caos escala lint tipos contratos format trava auditoria fuzz ajuda

ajuda:
	@echo "make run     sobe o servidor inteiro (PostgreSQL, Valkey, web, worker, beat)"
	@echo "make test    lint, tipos, contratos de importação e todos os testes"
	@echo "make bench   mede; tabela na tela e .local/bench.json"
	@echo "make caos    injeção de falhas, longa  (MINUTOS=5 SEMENTE=1)"
	@echo "make fuzz    pedidos sorteados sobre todas as rotas de um servidor de verdade  (MINUTOS=5 SEMENTE=1)"
	@echo "make escala  dois hospedeiros, PgBouncer, sentinelas e RabbitMQ de verdade (Linux, como root)"
	@echo "make auditoria   as dependências travadas contra as vulnerabilidades conhecidas (precisa de internet)"
	@echo "make lint    só a conferência do código;  make format  arruma o que dá"
	@echo "make coletor refaz o coletor.min.js a partir do coletor.js (precisa do npm)"
	@echo "make trava   refaz os requirements*.lock a partir do pyproject.toml (precisa do uv)"

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "O Lastro pede Python 3.11 ou mais novo (make run PYTHON=python3.12)."; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.local: requirements-local.lock | $(VENV)/bin/python
	@echo "Instalando (só na primeira vez; leva cerca de meio minuto)…"
	@$(PIP) requirements-local.lock
	@touch $@

$(VENV)/.teste: requirements-teste.lock | $(VENV)/bin/python
	$(PIP) requirements-teste.lock
	@touch $@ $(VENV)/.local

run: $(VENV)/.local
	@exec $(PY) manage.py local

# Três processos para dois núcleos: boa parte do tempo é espera por um servidor que cai e volta.
PROCESSOS ?= 3
test: lint tipos contratos navegador npm
	$(PY) -m pytest -n $(PROCESSOS)

lint: $(VENV)/.teste
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .

tipos: $(VENV)/.teste
	LASTRO_SEGREDO=so-para-conferir-os-tipos-0000000000 $(PY) -m mypy

contratos: $(VENV)/.teste
	$(VENV)/bin/lint-imports

format: $(VENV)/.teste
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

# O navegador de verdade dos testes. Falta e não dá para instalar: falha, não pula.
.PHONY: navegador
navegador:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		{ apt-get update -q && apt-get install -q -y chromium; } || \
		{ echo "Os testes pedem o Chromium: instale-o (apt-get install chromium) e rode de novo."; exit 1; }

# O npm traz o Vue da página de teste e o minificador do coletor; os pacotes, conferidos pelo hash, os testes instalam.
.PHONY: npm coletor
npm:
	@command -v npm >/dev/null || { apt-get update -q && apt-get install -q -y npm; } || \
		{ echo "Os testes pedem o npm (Node.js 18 ou mais novo): instale-o e rode de novo."; exit 1; }

coletor: npm
	npm --prefix tests/navegador/coletor/pagina_vue ci --ignore-scripts
	npm --prefix tests/navegador/coletor/pagina_vue run -s minificar

bench: $(VENV)/.teste
	$(PY) -m tests.bancada $(if $(FIGURAS),--figuras $(FIGURAS))

caos: $(VENV)/.teste
	$(PY) -m tests.caos --minutos $(or $(MINUTOS),5) $(if $(SEMENTE),--semente $(SEMENTE))

fuzz: $(VENV)/.teste
	$(PY) -m tests.fuzz --minutos $(or $(MINUTOS),5) $(if $(SEMENTE),--semente $(SEMENTE))

# Fora do `make test`: precisa de root (espaços de rede) e instala servidores do sistema.
escala: $(VENV)/.teste
	@command -v pgbouncer >/dev/null && command -v redis-sentinel >/dev/null && command -v ip >/dev/null && \
		test -x /usr/sbin/rabbitmq-server || \
		{ apt-get update -q && apt-get install -q -y pgbouncer redis-sentinel redis-server rabbitmq-server iproute2; }
	LASTRO_ESCALA=1 $(PY) -m pytest tests/escala

UV := uv pip compile -q pyproject.toml --universal --python-version 3.11 --generate-hashes --upgrade \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links
trava:
	$(UV) -o requirements.lock
	$(UV) --extra local -o requirements-local.lock
	$(UV) --extra local --extra teste -o requirements-teste.lock

# Numa venv que some no fim: o auditor não é dependência de nada. `--strict` porque, sem ele, um pacote que o serviço
# não conhece é pulado e a saída diz que está tudo bem. O lock dos testes contém os outros dois; o que tem marcador
# só é visto pelo Python que o usa (make auditoria PYTHON=python3.12).
auditoria: npm
	@pasta=$$(mktemp -d) && trap 'rm -rf "$$pasta"' EXIT && $(PYTHON) -m venv "$$pasta" && \
		"$$pasta/bin/python" -m pip --disable-pip-version-check -q install pip-audit==2.10.1 && \
		"$$pasta/bin/pip-audit" --strict --require-hashes --disable-pip -r requirements-teste.lock
	npm --prefix tests/navegador/coletor/pagina_vue audit --package-lock-only
