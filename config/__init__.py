"""A casa de máquinas: de onde vem a configuração e por onde entra o tráfego.

- `ambiente.py`   lê as variáveis de ambiente (a única leitura de `os.environ` do servidor).
- `settings.py`   a configuração do Django, toda num arquivo.
- `porta.py`      o ASGI fino: espera o corpo inteiro e só então ocupa uma thread do Django.
- `recebimento.py` junta o corpo, sob teto, prazos e orçamento de memória.
- `contagem.py`   as respostas da porta, somadas entre os processos web.
- `trabalhadores.py` as threads em que a porta roda o Django.
- `wsgi.py`       o mesmo Django para quem preferir um servidor WSGI.
- `banco/`        o adaptador do PostgreSQL (percebe conexão morta sem gastar uma consulta).
- `camadas.py`    o middleware que só o painel usa.
- `cofre.py`      segredos cifrados em repouso.
- `erros.py`      como um erro vira `{"detail", "codigo"}`.
- `rotas.py`      a base das rotas chamadas por programas.
- `registros.py`  uma linha por registro: a frase e os campos.
- `celery.py`     o aplicativo Celery e os relógios (beat).
- `embutido/`     PostgreSQL e Valkey de verdade, vindos de wheels, para o primeiro uso e os testes.
- `servicos_locais.py` com que argumentos roda cada serviço do `manage.py local`.
- `supervisao/`   quem mantém de pé os processos do `manage.py local`.
"""

from config.celery import app as celery_app

__all__ = ["celery_app"]
