# Uma imagem para os três papéis: web, worker e beat (`manage.py servir <papel>`).
# Sem compilador: todas as dependências vêm prontas, nas versões e com os resumos do requirements.lock.
FROM python:3.13-slim AS instalacao
COPY requirements.lock /instalacao/
RUN python -m venv /lastro/venv \
    && /lastro/venv/bin/pip install --no-cache-dir --disable-pip-version-check --only-binary :all: \
        --require-hashes --no-deps -r /instalacao/requirements.lock

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home --home-dir /lastro lastro \
    && install -d -o lastro -g lastro /lastro/dados
COPY --from=instalacao /lastro/venv /lastro/venv
COPY manage.py pyproject.toml /lastro/codigo/
COPY config /lastro/codigo/config
COPY ingestao /lastro/codigo/ingestao
COPY dlr /lastro/codigo/dlr
COPY painel /lastro/codigo/painel
COPY templates /lastro/codigo/templates
WORKDIR /lastro/codigo
ENV PATH=/lastro/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 \
    LASTRO_DADOS=/lastro/dados LASTRO_ENDERECO=0.0.0.0 PORTA=8000
USER lastro
VOLUME /lastro/dados
EXPOSE 8000
# Só a web responde aqui; worker e beat trocam isto no compose.yaml.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORTA\"]}/saude', timeout=2)"]
ENTRYPOINT ["python", "manage.py"]
CMD ["servir", "web"]
