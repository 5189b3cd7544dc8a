"""As mensagens de que um recibo poderia falar: o que ajuda uma pessoa a decidir, e nunca decide."""

from typing import Any

from dlr.models import EventoLogico, Excecao, Mensagem
from painel.admin.dlr.explicacoes import DIFERENCAS
from painel.admin.dlr.mensagem import descrever_estado, projecao_de
from painel.admin.ficha import VAZIO, mostrar_instante
from painel.admin.inerte import neutralizar
from painel.admin.mascara import mascarar

CANDIDATAS_MOSTRADAS = 20  # as que a dica guarda, que já vêm limitadas pela busca


def listar_candidatas(excecao: Excecao) -> list[dict[str, Any]]:
    """As mensagens parecidas, no que o id difere, e o que ajuda uma pessoa a decidir (nunca decide)."""
    dicas = [
        dica for dica in excecao.dicas if isinstance(dica, dict) and isinstance(dica.get("mensagem"), int)
    ]
    dicas = dicas[:CANDIDATAS_MOSTRADAS]
    mensagens = (
        Mensagem.objects.filter(pk__in=[dica["mensagem"] for dica in dicas])
        .select_related("projecao")
        .prefetch_related("identificadores")
        .in_bulk()
    )
    return [
        comparar(mensagens[dica["mensagem"]], dica, excecao.evento)
        for dica in dicas
        if dica["mensagem"] in mensagens
    ]


def comparar(mensagem: Mensagem, dica: dict[str, Any], evento: EventoLogico | None) -> dict[str, Any]:
    """Uma mensagem ao lado do recibo: o id dela, no que difere, e a evidência auxiliar."""
    do_recibo = (evento.id_externo or "") if evento else ""
    externos = [i.valor for i in mensagem.identificadores.all()]
    diferencas = [DIFERENCAS.get(nome, nome) for nome in dica.get("diferencas", [])]
    return {
        "mensagem": mensagem,
        "nome": neutralizar(str(mensagem)),
        "id_externo": neutralizar(dica.get("id_externo") or do_recibo or ", ".join(externos[:3])),
        "do_recibo": neutralizar(do_recibo),
        "difere": " e ".join(diferencas) or "nada: o id é o mesmo",
        "destino": mascarar(mensagem.destino) or VAZIO,
        "mesmo_destino": _mesmo_numero(mensagem.destino, evento.destino if evento else None),
        "apresentada": mostrar_instante(mensagem.apresentada_em),
        "estado": descrever_estado(projecao_de(mensagem))[1],
    }


def _mesmo_numero(um: str | None, outro: str | None) -> str:
    if not um or not outro:
        return "não se sabe"
    iguais = um.strip().lstrip("+0") == outro.strip().lstrip("+0")
    return "o mesmo do recibo" if iguais else "diferente do recibo"
