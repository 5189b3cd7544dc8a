"""A configuração do Django. O que muda de máquina para máquina vem de `config.ambiente`."""

from datetime import timedelta

from csp.constants import NONCE, NONE, SELF, UNSAFE_EVAL, UNSAFE_INLINE
from django.templatetags.static import static
from environs import env

from config import ambiente
from config.valkey import endereco_do_broker

BASE_DIR = ambiente.RAIZ
SECRET_KEY = ambiente.segredo()
DEBUG = False
ALLOWED_HOSTS = ambiente.hospedeiros()

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "painel.admin_do_django.SiteConfig",  # o admin do Django, com o login do painel
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "rest_framework",
    "corsheaders",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "ingestao",
    "dlr",
    "painel",  # o último: os papéis se aplicam depois de existirem as permissões dos outros
]

MIDDLEWARE = [
    "corsheaders.middleware.CorsMiddleware",  # antes de tudo: os erros também levam CORS
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.camadas.Politica",
    "config.camadas.Cabecalhos",
    "config.camadas.Sessao",
    "config.camadas.Comum",
    "config.camadas.Csrf",
    "config.camadas.Usuario",
    "config.camadas.SegundoFator",
    "config.camadas.Mensagens",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "config.camadas.Tranca",  # a mais interna, como a biblioteca pede
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# ---- PostgreSQL

# Uma máquina que some da rede não se despede: sem isto, nós esperaríamos por ela, e o PostgreSQL guardaria as
# travas da transação dela, por duas horas. `options` vale no lado do servidor; num soquete local nada disso pesa.
PAR_SUMIDO = {
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
PAR_SUMIDO_NO_BANCO = {
    "options": "-c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=3"
    " -c tcp_user_timeout=10000 -c idle_in_transaction_session_timeout=60000",
}
DATABASES = {
    "default": {
        **env.dj_db_url("DATABASE_URL", ambiente.url_do_banco() or "postgresql:///lastro"),
        "ENGINE": "config.banco",
        "CONN_MAX_AGE": None,  # uma conexão por thread da porta; `config.banco` percebe quando ela morre
        "CONN_HEALTH_CHECKS": True,
    }
}
DATABASES["default"].setdefault("OPTIONS", {})
# As transportadoras desistem de um callback entre 2 e 30 s: melhor um 503 antes disso.
DATABASES["default"]["OPTIONS"].setdefault("connect_timeout", 3)
# Com o PgBouncer à frente, quem conecta ao PostgreSQL é ele, e lá se ajusta o lado do servidor.
for _nome, _valor in (PAR_SUMIDO | ({} if ambiente.ATRAS_DE_PGBOUNCER else PAR_SUMIDO_NO_BANCO)).items():
    DATABASES["default"]["OPTIONS"].setdefault(_nome, _valor)
if ambiente.ATRAS_DE_PGBOUNCER:  # em modo transação cada transação pode cair noutra sessão do PostgreSQL
    DATABASES["default"]["OPTIONS"]["prepare_threshold"] = None
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# ---- Valkey: só o que pode ser perdido

REDIS_URL = ambiente.url_do_redis() or "redis://127.0.0.1:6379/0"
REDIS_ESPERA_S = 0.25  # quem espera por ele é uma requisição: bem menos de um segundo

CELERY_BROKER_URL, _opcoes_do_broker = endereco_do_broker(ambiente.BROKER_URL or REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # o worker espera o broker voltar, o tempo que for
CELERY_BROKER_TRANSPORT_OPTIONS = (
    {} if CELERY_BROKER_URL.startswith("amqp") else {"socket_timeout": 5.0, "socket_connect_timeout": 1.0}
) | _opcoes_do_broker
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = False  # a tarefa vive do banco, não do broker
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "varrer-a-caixa-de-lotes": {
        "task": "ingestao.tasks.processar_lotes",
        "schedule": 3.0,
        "options": {"expires": 3.0},  # mensagem velha não se acumula atrás de um worker parado
    },
    "varrer-a-caixa-de-recepcoes": {
        "task": "dlr.tasks.processar_recepcoes",
        "schedule": 3.0,
        "options": {"expires": 3.0},
    },
    "cuidar-dos-soltos": {
        "task": "dlr.tasks.cuidar_dos_soltos",
        "schedule": 5.0,
        "options": {"expires": 5.0},
    },
    "cobrar-finais": {"task": "dlr.tasks.cobrar_finais", "schedule": 300.0, "options": {"expires": 300.0}},
    "expurgar-minutos-dos-recibos": {
        "task": "dlr.tasks.expurgar_minutos",
        "schedule": 3600.0,
        "options": {"expires": 3600.0},
    },
    "avisar": {"task": "painel.tasks.avisar", "schedule": 60.0, "options": {"expires": 60.0}},
    "vencer-pedidos": {
        "task": "ingestao.tasks.vencer_pedidos",
        "schedule": 60.0,
        "options": {"expires": 60.0},
    },
    "expurgar": {"task": "ingestao.tasks.expurgar", "schedule": 3600.0, "options": {"expires": 3600.0}},
}

# ---- Avisos e métricas

TAREFA_DE_AVISOS = "painel.tasks.avisar"  # a ingestão a chama pelo nome: as importações só descem
WEBHOOK_LOCAL = ambiente.WEBHOOK_LOCAL
TOKEN_METRICAS = ambiente.TOKEN_METRICAS
REDES_METRICAS = ambiente.REDES_METRICAS

# ---- Ingestão

# O que a porta entrega direto, em grupos, sem as camadas do Django (docs/decisoes/0008 e 0015). `caminho` é uma
# expressão regular; as partes que ela nomeia chegam à rota. `cors`: qualquer página lê a resposta.
ROTAS_DIRETAS = [
    {
        "nome": "eventos",
        "caminho": r"/evento/ingestao",
        "metodos": {"POST"},
        "atender": "ingestao.eventos.atendimento.atender",
        "contar_recusa": "ingestao.eventos.atendimento.contar_recusa",
        "teto_bytes": 1024 * 1024,
        "cors": True,
    },
    {
        "nome": "recibos",
        "caminho": r"/dlr/callback/(?P<slug>[-a-zA-Z0-9_]+)(?:/(?P<token>[^/]+))?/?",
        "metodos": {"GET", "POST"},
        "atender": "dlr.atendimento.atender",
        "contar_recusa": "dlr.atendimento.contar_recusa",
        "teto_bytes": 4 * 1024 * 1024,
        "cors": False,
    },
    {
        # Uma captura já vem em lote e leva imagens: cada chamada é a sua própria transação.
        "nome": "capturas",
        "caminho": r"/captura/ingestao",
        "metodos": {"POST"},
        "atender": "ingestao.capturas.atendimento.atender_chegadas",
        "contar_recusa": "ingestao.capturas.atendimento.contar_recusa",
        "teto_bytes": 16 * 1024 * 1024,
        "cors": False,
        "em_grupos": False,
    },
]
# As outras rotas dos aparelhos, que passam pelo Django: o corpo que não veio também é contado.
CONTADORES_DE_RECUSA = {"/captura/": "ingestao.capturas.atendimento.contar_recusa"}
# GETs que esperam por notícia como corrotinas, sem ocupar thread.
ROTAS_DE_ESPERA = {"/captura/pedidos": "ingestao.capturas.espera.esperar"}
LIMITE_POR_MINUTO = ambiente.LIMITE_POR_MINUTO
TETO_DA_CAIXA = ambiente.TETO_DA_CAIXA
TETO_DA_CAIXA_DE_RECEPCOES = ambiente.TETO_DA_CAIXA_DE_RECEPCOES
URL_FRONTEND = ambiente.URL_FRONTEND
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 1024 * 1024  # cada rota tem o seu teto, sempre menor que este

CORS_URLS_REGEX = r"^/evento/ingestao$"
CORS_ALLOW_ALL_ORIGINS = True  # quem autoriza é a conferência da origem, não o CORS
CORS_ALLOW_METHODS = ["POST", "OPTIONS"]
CORS_ALLOW_HEADERS = ["content-type", "content-encoding"]
CORS_EXPOSE_HEADERS = ["Retry-After"]
CORS_PREFLIGHT_MAX_AGE = 86_400

REST_FRAMEWORK = {
    "EXCEPTION_HANDLER": "config.erros.tratar_erro",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_AUTHENTICATION_CLASSES": [],
    "DEFAULT_PERMISSION_CLASSES": [],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Lastro",
    "DESCRIPTION": "Recebe eventos de sites, capturas de dispositivos e recibos de SMS, e só confirma o que gravou.",
    "VERSION": "0.1.0",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "POSTPROCESSING_HOOKS": ["ingestao.eventos.esquema.exigir_corpo"],
    "SWAGGER_UI_DIST": "SIDECAR",  # a documentação abre sem internet
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# ---- Idioma, arquivos, avisos

LANGUAGE_CODE = "pt-br"
TIME_ZONE = ambiente.FUSO
USE_TZ = True
USE_I18N = True
LOCALE_PATHS = [BASE_DIR / "painel" / "locale"]  # antes dos textos das bibliotecas, que ele corrige
STATIC_URL = "estaticos/"
STATIC_ROOT = BASE_DIR / "estaticos"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "quadros": {"BACKEND": ambiente.DEPOSITO_DE_QUADROS, "OPTIONS": ambiente.opcoes_do_deposito()},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True  # sem `collectstatic` no primeiro uso
WHITENOISE_MAX_AGE = 3600

_email = env.dj_email_url("EMAIL_URL", "console:")
EMAIL_BACKEND = _email["EMAIL_BACKEND"]
EMAIL_HOST = _email["EMAIL_HOST"]
EMAIL_PORT = _email["EMAIL_PORT"]
EMAIL_HOST_USER = _email["EMAIL_HOST_USER"]
EMAIL_HOST_PASSWORD = _email["EMAIL_HOST_PASSWORD"]
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
EMAIL_FILE_PATH = _email.get("EMAIL_FILE_PATH")
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ambiente.EMAIL_REMETENTE

# ---- Segurança

LOGIN_URL = "/admin/login/"
LOGIN_REDIRECT_URL = "/admin/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
CSRF_FAILURE_VIEW = "config.erros.formulario_vencido"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = not ambiente.MODO_LOCAL
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SECURE_HSTS_SECONDS = 0 if ambiente.MODO_LOCAL else 31_536_000
# Só o painel: um POST redirecionado viraria GET, e o evento ou o recibo se perderia.
SECURE_SSL_REDIRECT = not ambiente.MODO_LOCAL
SECURE_REDIRECT_EXEMPT = [r"^(?!admin)"]
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ambiente.ATRAS_DE_PROXY else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # O tema é feito em Alpine.js, que compila os atributos `x-…` (docs/decisoes/0012).
        "script-src": [SELF, NONCE, UNSAFE_EVAL],
        "style-src": [SELF, NONCE],
        "style-src-attr": [UNSAFE_INLINE],  # larguras de barras e gráficos
        "img-src": [SELF, "data:"],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
SILENCED_SYSTEM_CHECKS = [
    "security.W005",  # HSTS dos subdomínios e `preload`: só o dono do domínio sabe se todos têm HTTPS
    "security.W021",
    "security.W003",  # estas duas camadas estão lá, com o atalho de `config.camadas`;
    "axes.W002",  # as verificações só conhecem o nome original
]

# Login: cinco erros da mesma pessoa no mesmo endereço, ou cinquenta do endereço, trancam por um quarto de hora.
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AXES_HANDLER = "painel.acesso.tranca.Tentativas"  # no PostgreSQL: não depende do Valkey
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address"]
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_RESET_ON_SUCCESS = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = (
    False  # insistir não prolonga: quem é de casa volta na hora dita
)
AXES_USERNAME_CALLABLE = "painel.acesso.tranca.ler_usuario"
AXES_CLIENT_IP_CALLABLE = "painel.acesso.tranca.ler_endereco"
AXES_LOCKOUT_CALLABLE = "painel.acesso.tranca.responder"
AXES_ENABLE_ADMIN = False  # as telas são as do painel
AXES_VERBOSE = False  # sem endereço nem nome no registro do servidor

EXIGIR_SEGUNDO_FATOR = ambiente.EXIGIR_SEGUNDO_FATOR
ATRAS_DE_PROXY = ambiente.ATRAS_DE_PROXY
OTP_TOTP_ISSUER = "Lastro"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"linha": {"()": "config.registros.FormatadorDeCampos"}},
    "filters": {
        # Um 503 nosso já disse o que houve no registro próprio; repeti-lo a cada sondagem só enche o disco.
        "sem_503": {
            "()": "django.utils.log.CallbackFilter",
            "callback": lambda registro: getattr(registro, "status_code", None) != 503,
        }
    },
    "handlers": {"saida": {"class": "logging.StreamHandler", "formatter": "linha"}},
    "root": {"handlers": ["saida"], "level": "WARNING"},
    "loggers": {
        "lastro": {"level": "INFO"},
        # Um 4xx de remetente não é notícia: ele já está contado, com motivo, no uso.
        "django.request": {"level": "ERROR", "filters": ["sem_503"]},
        # Hospedeiro alheio, filtro ou campo digitado errado no endereço, formulário imenso: um 400 de quem pediu, e um
        # traço inteiro por pedido encheria o disco.
        "django.security": {"level": "CRITICAL"},
    },
}

UNFOLD = {
    "SITE_TITLE": "Lastro",
    "SITE_HEADER": "Lastro",
    "SITE_SUBHEADER": "nenhum ACK sem lastro",
    "SITE_SYMBOL": "anchor",
    "SITE_FAVICONS": [
        {"rel": "icon", "type": "image/svg+xml", "href": lambda request: static("painel/icone.svg")}
    ],
    "SITE_URL": None,  # a raiz do site é o próprio painel
    "SHOW_HISTORY": True,
    "STYLES": [
        lambda request: static("painel/painel.css"),
        lambda request: static("painel/graficos.css"),
        lambda request: static("painel/capturas.css"),
    ],
    "SCRIPTS": [lambda request: static("painel/graficos.js")],
    "DASHBOARD_CALLBACK": "painel.inicio.views.montar_contexto",
    "SIDEBAR": {"navigation": "painel.admin.navegacao.montar_navegacao"},
    "ACCOUNT": {"navigation": "painel.admin.navegacao.montar_conta"},
    "COLORS": {
        # Azul-petróleo: o branco sobre o tom 600 tem contraste de texto (WCAG AA).
        "primary": {
            "50": "oklch(97.5% .013 230)",
            "100": "oklch(94.5% .03 230)",
            "200": "oklch(89.5% .055 230)",
            "300": "oklch(82.5% .09 230)",
            "400": "oklch(73% .115 230)",
            "500": "oklch(64% .12 231)",
            "600": "oklch(51% .108 233)",
            "700": "oklch(44.5% .094 234)",
            "800": "oklch(38.5% .078 235)",
            "900": "oklch(33% .062 236)",
            "950": "oklch(24.5% .048 238)",
        }
    },
}
