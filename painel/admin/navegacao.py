"""O menu do painel: cada um vê o que pode abrir."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse, reverse_lazy

MENU = (
    (
        "Sites",
        (
            ("Aplicativos", "web", "ingestao", "aplicativo"),
            ("Sessões", "group", "ingestao", "sessao"),
            ("Eventos", "timeline", "ingestao", "evento"),
            ("Erros", "bug_report", "ingestao", "erro"),
        ),
    ),
    (
        "Capturas",
        (
            ("Capturas", "photo_camera", "ingestao", "captura"),
            ("Contestações", "gavel", "ingestao", "pedido"),
            ("Dispositivos", "videocam", "ingestao", "dispositivo"),
            ("Medidas", "monitoring", "ingestao", "medidadecaptura"),
            ("Capturas recusadas", "rule", "ingestao", "capturarecusada"),
            ("Descartes", "delete_sweep", "ingestao", "relatodedescarte"),
            ("Chamadas recusadas", "block", "ingestao", "recusadecaptura"),
        ),
    ),
    (
        "Recibos (DLR)",
        (
            ("Exceções", "assignment_late", "dlr", "excecao"),
            ("Mensagens", "sms", "dlr", "mensagem"),
            ("Recepções", "move_to_inbox", "dlr", "recepcao"),
            ("Eventos lógicos", "fact_check", "dlr", "eventologico"),
            ("Integrações", "hub", "dlr", "integracao"),
            ("Callbacks recusados", "block", "dlr", "recusadecallback"),
        ),
    ),
    (
        "Medição",
        (
            ("Uso", "bar_chart", "ingestao", "uso"),
            ("Recusas", "block", "ingestao", "recusa"),
            ("Avisos de franquia", "data_usage", "ingestao", "avisofranquia"),
        ),
    ),
    (
        "Avisos",
        (
            ("Avisos", "notifications", "painel", "aviso"),
            ("Destinos", "outgoing_mail", "painel", "destinodeaviso"),
            ("Entregas", "send", "painel", "entregadeaviso"),
            ("Limiares", "tune", "painel", "limiardeaviso"),
        ),
    ),
    (
        "Operação",
        (
            ("Caixa de entrada", "inbox", "ingestao", "lote"),
            ("Caixa de recepções", "all_inbox", "dlr", "recepcaopendente"),
        ),
    ),
    (
        "Acesso",
        (
            ("Usuários", "person", "auth", "user"),
            ("Papéis e grupos", "groups", "auth", "group"),
            ("Trilha", "history", "admin", "logentry"),
            ("Revelações", "visibility", "painel", "revelacao"),
            ("Entradas", "login", "axes", "accesslog"),
            ("Logins travados", "lock_clock", "axes", "accessattempt"),
        ),
    ),
)


# A porta de entrada de um modelo, quando não é a lista dele.
ENTRADAS = {"medidadecaptura": "panorama"}

# Quem não tem papel: sem item nenhum, o tema mostraria um erro em vez do menu.
SEM_PAPEL = [
    {"title": "Segundo fator", "icon": "phonelink_lock", "link": reverse_lazy("admin:segundo_fator")}
]


def montar_navegacao(request: HttpRequest) -> list[dict[str, Any]]:
    """Os grupos do menu com os itens que o usuário pode ver."""
    grupos: list[dict[str, Any]] = []
    for titulo, itens in MENU:
        visiveis = [
            {
                "title": nome,
                "icon": icone,
                "link": reverse(f"admin:{app}_{modelo}_{ENTRADAS.get(modelo, 'changelist')}"),
            }
            for nome, icone, app, modelo in itens
            if _pode_ver(request, app, modelo)
        ]
        if visiveis:
            grupos.append({"title": titulo, "separator": bool(grupos), "items": visiveis})
    return grupos or [{"title": "Sua conta", "items": SEM_PAPEL}]


def montar_conta(request: HttpRequest) -> list[dict[str, Any]]:
    """O menu da própria pessoa."""
    return [
        {"title": "Trocar a senha", "link": reverse("admin:password_change")},
        {"title": "Segundo fator", "link": reverse("admin:segundo_fator")},
    ]


def _pode_ver(request: HttpRequest, app: str, modelo: str) -> bool:
    return any(request.user.has_perm(f"{app}.{verbo}_{modelo}") for verbo in ("view", "change"))
