"""O que o servidor gravou do aplicativo de demonstração."""

from operator import itemgetter
from typing import Any

from ingestao.demonstracao import CHAVE_DE_DEMONSTRACAO
from ingestao.models import Aplicativo, Evento, Sessao

QTD_EVENTOS = 40  # cabe na tela; o resto está no painel
_CAMPOS = (
    "id tipo nome mensagem pilha arquivo linha coluna url metodo status duracao_ms nivel seletor texto metrica valor"
    " usuario_id payload ocorrido_em criado_em"
).split()


def buscar_demonstracao(sessao_externa: str) -> dict[str, Any] | None:
    """Os últimos eventos do aplicativo, do mais novo ao mais antigo, e os contadores da sessão pedida.

    None se o aplicativo de demonstração não existe (foi excluído no painel). Índices: a chave única e
    `evento_do_aplicativo`.
    """
    aplicativo = Aplicativo.objects.filter(chave=CHAVE_DE_DEMONSTRACAO, deletado=False).first()
    if aplicativo is None:
        return None
    eventos = Evento.objects.filter(aplicativo=aplicativo).order_by("-criado_em", "-id")[:QTD_EVENTOS]
    sessao = (
        Sessao.objects.filter(aplicativo=aplicativo, sessao_externa=sessao_externa)
        .values("quantidade_eventos", "quantidade_erros", "usuario_id", "tempo_carregamento_ms")
        .first()
    )
    return {
        "sessao": sessao,
        # Os de um lote chegaram no mesmo instante: entre eles vale o relógio da página.
        "eventos": [
            {campo: valor for campo, valor in evento.items() if valor is not None}
            for evento in sorted(
                eventos.values(*_CAMPOS), key=itemgetter("criado_em", "ocorrido_em"), reverse=True
            )
        ],
    }
