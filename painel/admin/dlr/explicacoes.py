"""O que cada tipo, motivo, papel e diferença quer dizer, nas palavras de quem opera."""

from dataclasses import dataclass

from dlr.dominio.correlacao import Semelhanca
from dlr.dominio.projecao import Motivo, Papel
from dlr.models import TipoDeExcecao


@dataclass(frozen=True, slots=True, kw_only=True)
class Explicacao:
    """O que houve e o que fazer."""

    houve: str
    fazer: str


TIPOS: dict[str, Explicacao] = {
    TipoDeExcecao.FORMATO_NAO_RECONHECIDO: Explicacao(
        houve="A chamada, ou um item dela, não é o que o formato da integração diz.",
        fazer="Olhe os bytes. Se o formato da integração está errado ou mudou, corrija-o e reprocesse.",
    ),
    TipoDeExcecao.RECIBO_PARCIAL: Explicacao(
        houve="O recibo foi lido, mas falta o id ou o estado: não diz nada de ninguém.",
        fazer="Olhe os bytes. Se o dado está lá com outro nome, é caso de mudar o leitor e reprocessar.",
    ),
    TipoDeExcecao.ESTADO_NAO_MAPEADO: Explicacao(
        houve="O estado não está na tabela do formato. Nenhuma mensagem mudou por ele.",
        fazer="Descubra com a transportadora o que o estado quer dizer; mapeado, reprocesse.",
    ),
    TipoDeExcecao.SEM_CORRELACAO: Explicacao(
        houve="Nenhuma mensagem tem este id externo, e a janela de espera passou.",
        fazer="Veja os quase acertos e ligue à mão; se a mensagem for registrada, isto se resolve sozinho.",
    ),
    TipoDeExcecao.CORRELACAO_AMBIGUA: Explicacao(
        houve="Mais de uma mensagem tem este id externo. Nenhuma delas mudou.",
        fazer="Descubra de qual é e ligue à mão.",
    ),
    TipoDeExcecao.CONFLITO_FINAL: Explicacao(
        houve="Chegaram finais incompatíveis para a mesma mensagem. Até alguém escolher, vale o primeiro recebido.",
        fazer="Apure com a transportadora e escolha o final que vale.",
    ),
    TipoDeExcecao.PARTES_DIVERGENTES: Explicacao(
        houve="As partes da mensagem terminaram de modos diferentes.",
        fazer="Apure com a transportadora e escolha o final que vale.",
    ),
    TipoDeExcecao.ID_DE_EVENTO_REUTILIZADO: Explicacao(
        houve="Um id de evento já usado voltou com outro conteúdo. O segundo não foi aplicado.",
        fazer="Compare os dois e apure com a transportadora.",
    ),
    TipoDeExcecao.MENSAGEM_NAO_ACEITA: Explicacao(
        houve="Há recibo de uma mensagem cuja apresentação foi registrada como recusada.",
        fazer="Confira o registro de quem enviou: uma das duas coisas está errada.",
    ),
    TipoDeExcecao.FINAL_AUSENTE: Explicacao(
        houve="O prazo da integração passou e nenhum recibo final chegou.",
        fazer="Cobre a transportadora. Se ela não dá recibo do aparelho, desligue a opção na integração.",
    ),
}

MOTIVOS: dict[str, str] = {
    Motivo.SEM_RECIBO: "Nenhum recibo que diga o estado chegou para esta mensagem.",
    Motivo.INTERMEDIARIO: "Só chegaram estados intermediários; vale o que mais avança.",
    Motivo.FINAL: "Um recibo final chegou, e nada o contradiz.",
    Motivo.CONFLITO: "Chegaram finais incompatíveis; enquanto ninguém escolhe, vale o primeiro recebido.",
    Motivo.DECISAO: "Uma pessoa escolheu este final entre os recebidos.",
    Motivo.PARTES_INCOMPLETAS: "Algumas partes terminaram e outras ainda não.",
    Motivo.PARTES_DIVERGENTES: "As partes terminaram de modos diferentes; o todo fica sem um final único.",
}

# O rótulo, a cor do selo e a explicação.
PAPEIS: dict[str, tuple[str, str, str]] = {
    Papel.SUSTENTA: ("sustenta", "success", "É o que dá à mensagem o estado que ela tem."),
    Papel.CONFIRMA: ("confirma", "success", "Repete o mesmo final por outro evento."),
    Papel.SUPERADO: ("superado", "base", "Valeu até chegar um que diz mais."),
    Papel.TARDIO: ("tardio", "info", "Intermediário que chegou depois do final: não muda nada."),
    Papel.CONTRADIZ: ("contradiz", "danger", "Final incompatível com o que vale."),
    Papel.NAO_MAPEADO: ("não mapeado", "warning", "O estado não está na tabela do formato."),
}

DIFERENCAS: dict[str, str] = {
    Semelhanca.CAIXA: "maiúsculas e minúsculas",
    Semelhanca.ZEROS: "zeros à esquerda",
    Semelhanca.BASE: "base (hexadecimal ↔ decimal)",
}

CORRELACOES: dict[str, str] = {
    "esperando": "espera a mensagem aparecer",
    "unica": "ligado a uma mensagem",
    "nenhuma": "nenhuma mensagem tem este id",
    "varias": "mais de uma mensagem tem este id",
    "sem_id": "deixou de valer: nenhuma recepção o traz mais",
}

ATOS: dict[str, str] = {
    "abrir": "Aberta",
    "fechar": "Encerrada: a causa sumiu",
    "ligar": "Ligada à mão",
    "reprocessar": "Reprocessada",
    "escolher_final": "Final escolhido",
    "descartar": "Descartada",
    "reabrir": "Reaberta",
    "atribuir": "Atribuída",
    "anotar": "Nota",
}
