"""Os atos sobre exceções, de uma ou de muitas: o que se pede, o que acontece, e como se conta.

Uma página por ato: diz o que vai acontecer (reprocessar mostra a prévia), pede o motivo, e só então faz.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from unfold.widgets import (
    UnfoldAdminRadioSelectWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from dlr import excecoes
from dlr.dominio.projecao import e_final
from dlr.excecoes import MOTIVO_MINIMO_CARACTERES, Ato
from dlr.integracoes import Elenco
from dlr.materializacao import eventos_de
from dlr.models import Excecao, Mensagem, SituacaoDaExcecao, TipoDeExcecao
from painel.admin.filtros import ler_inteiro

MOTIVO_CARACTERES = 1_000
ABERTA, RESOLVIDA = SituacaoDaExcecao.ABERTA.value, SituacaoDaExcecao.RESOLVIDA.value
INTEIRA = "inteira"
LIGAVEIS = frozenset({TipoDeExcecao.SEM_CORRELACAO, TipoDeExcecao.CORRELACAO_AMBIGUA})
EM_CONFLITO = frozenset({TipoDeExcecao.CONFLITO_FINAL, TipoDeExcecao.PARTES_DIVERGENTES})


class FormularioDeAto(forms.Form):
    """O motivo, que todo ato pede."""

    motivo = forms.CharField(
        label="Motivo",
        min_length=MOTIVO_MINIMO_CARACTERES,
        max_length=MOTIVO_CARACTERES,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
        help_text="Fica na trilha da exceção, com o seu nome e a hora.",
        error_messages={"required": "Escreva o motivo: ele fica na trilha de quem vier depois."},
    )

    def __init__(self, *args: Any, alvos: Sequence[Excecao], usuario: User, **kwargs: Any) -> None:
        self.alvos = alvos
        self.usuario = usuario
        super().__init__(*args, **kwargs)

    @property
    def ids(self) -> list[int]:
        return [excecao.pk for excecao in self.alvos]


class FormularioDeLigacao(FormularioDeAto):
    mensagem = forms.CharField(
        label="Número da mensagem",
        widget=UnfoldAdminTextInputWidget(attrs={"inputmode": "numeric"}),
        help_text="O número dela no Lastro (está na página da mensagem). Da mesma integração.",
    )
    field_order = ("mensagem", "motivo")

    def clean_mensagem(self) -> int:
        numero = ler_inteiro(self.cleaned_data["mensagem"])
        if numero is None:
            raise forms.ValidationError("Escreva o número da mensagem, só algarismos.")
        if not Mensagem.objects.filter(pk=numero, integracao_id=self.alvos[0].integracao_id).exists():
            raise forms.ValidationError("Esta mensagem não existe nesta integração.")
        return numero


class FormularioDeFinal(FormularioDeAto):
    final = forms.ChoiceField(label="O final que vale", widget=UnfoldAdminRadioSelectWidget)
    field_order = ("final", "motivo")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["final"].choices = listar_finais(self.alvos[0])  # type: ignore[attr-defined]


class FormularioDeAtribuicao(FormularioDeAto):
    responsavel = forms.ModelChoiceField(
        label="Quem cuida", queryset=User.objects.none(), widget=UnfoldAdminSelectWidget
    )
    field_order = ("responsavel", "motivo")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        equipe = User.objects.filter(is_staff=True, is_active=True).order_by("username")
        self.fields["responsavel"].queryset = equipe  # type: ignore[attr-defined]
        self.fields["responsavel"].initial = self.usuario.pk


@dataclass(frozen=True, slots=True, kw_only=True)
class DescricaoDoAto:
    """Um ato: como se chama, o que faz, em que exceções cabe e quem o executa.

    `fazer` recebe o formulário válido e o ato; devolve a frase com o número verdadeiro.
    """

    rotulo: str
    consequencia: str
    fazer: Callable[[Any, Ato], str]
    formulario: type[FormularioDeAto] = FormularioDeAto
    situacoes: frozenset[str] = frozenset({ABERTA})
    tipos: frozenset[str] | None = None
    de_muitas: bool = False
    com_previa: bool = False
    perigoso: bool = False

    def cabe(self, excecao: Excecao) -> bool:
        """Diz se o ato faz sentido nesta exceção."""
        return excecao.situacao in self.situacoes and (self.tipos is None or excecao.tipo in self.tipos)


def contar(quantas: int, participio: str) -> str:
    """`1 exceção descartada`, `3 exceções descartadas`."""
    return f"{quantas} exceção {participio}" if quantas == 1 else f"{quantas} exceções {participio}s"


def _com_resto(pedidas: int, mudaram: int, participio: str) -> str:
    resto = pedidas - mudaram
    ja = f"; {resto} já não {'cabia' if resto == 1 else 'cabiam'} no ato" if resto else ""
    return f"{contar(mudaram, participio)}{ja}."


def _ligar(formulario: FormularioDeLigacao, ato: Ato) -> str:
    numero = formulario.cleaned_data["mensagem"]
    excecoes.ligar(formulario.ids[0], numero, ato)
    mensagem = Mensagem.objects.select_related("projecao").get(pk=numero)
    estado = mensagem.projecao.estado or "sem estado"
    return f"1 recibo ligado à mensagem {numero}, que agora está {estado}."


def _escolher_final(formulario: FormularioDeFinal, ato: Ato) -> str:
    estado, _, onde = formulario.cleaned_data["final"].partition("@")
    parte = None if onde == INTEIRA else int(onde)
    depois = excecoes.escolher_final(formulario.ids[0], estado, ato, parte=parte)
    desfecho = "a exceção se resolveu" if depois.situacao == RESOLVIDA else "a exceção continua aberta"
    return f"{estado} escolhido{'' if parte is None else f' para a parte {parte}'}; {desfecho}."


def _reprocessar(formulario: FormularioDeAto, ato: Ato) -> str:
    resultados = excecoes.reprocessar(formulario.ids, ato)
    resolvidas = sum(resultado["situacao"] == RESOLVIDA for resultado in resultados)
    continuam = len(resultados) - resolvidas
    return (
        f"{contar(len(resultados), 'reprocessada')}: {resolvidas} "
        f"{'resolvida' if resolvidas == 1 else 'resolvidas'}, {continuam} ainda "
        f"{'aberta' if continuam == 1 else 'abertas'}."
    )


def _atribuir(formulario: FormularioDeAtribuicao, ato: Ato) -> str:
    responsavel = formulario.cleaned_data["responsavel"]
    mudaram = excecoes.atribuir(formulario.ids, responsavel, ato)
    return f"{_com_resto(len(formulario.ids), mudaram, 'atribuída')[:-1]}; cuida: {responsavel}."


ATOS: dict[str, DescricaoDoAto] = {
    "ligar": DescricaoDoAto(
        rotulo="Ligar à mão",
        consequencia="O recibo passa a contar para a mensagem escolhida, e o estado dela é recalculado.",
        formulario=FormularioDeLigacao,
        tipos=LIGAVEIS,
        fazer=_ligar,
    ),
    "escolher-final": DescricaoDoAto(
        rotulo="Escolher o final",
        consequencia="Só entram finais que algum recibo comunicou. A escolha pode ser refeita; a última vale.",
        formulario=FormularioDeFinal,
        tipos=EM_CONFLITO,
        fazer=_escolher_final,
    ),
    "reprocessar": DescricaoDoAto(
        rotulo="Reprocessar",
        consequencia="A evidência é lida de novo com o leitor, as opções e as regras de hoje.",
        de_muitas=True,
        com_previa=True,
        fazer=_reprocessar,
    ),
    "atribuir": DescricaoDoAto(
        rotulo="Atribuir",
        consequencia="Diz quem cuida. Não muda a situação de nada.",
        formulario=FormularioDeAtribuicao,
        de_muitas=True,
        fazer=_atribuir,
    ),
    "anotar": DescricaoDoAto(
        rotulo="Anotar",
        consequencia="A nota entra na trilha. Não muda a situação de nada.",
        situacoes=frozenset(SituacaoDaExcecao.values),
        fazer=lambda formulario, ato: f"{contar(excecoes.anotar(formulario.ids, ato), 'anotada')}.",
    ),
    "descartar": DescricaoDoAto(
        rotulo="Descartar",
        consequencia="Encerra sem efeito: nenhuma mensagem muda, e a mesma causa não a reabre.",
        de_muitas=True,
        perigoso=True,
        fazer=lambda formulario, ato: _com_resto(
            len(formulario.ids), excecoes.descartar(formulario.ids, ato), "descartada"
        ),
    ),
    "reabrir": DescricaoDoAto(
        rotulo="Reabrir",
        consequencia="Volta à lista de trabalho.",
        situacoes=frozenset({RESOLVIDA, SituacaoDaExcecao.DESCARTADA.value}),
        fazer=lambda formulario, ato: _com_resto(
            len(formulario.ids), excecoes.reabrir(formulario.ids, ato), "reaberta"
        ),
    ),
}


def listar_finais(excecao: Excecao) -> list[tuple[str, str]]:
    """Os finais recebidos, para a mensagem inteira e, se ela tem partes, para cada uma: `ESTADO@onde`."""
    regras = Elenco([excecao.integracao_id]).regras(excecao.integracao_id)
    recebidos: dict[str, set[int | None]] = {}
    mensagem_id = excecao.mensagem_id or 0
    for evento in eventos_de([mensagem_id]).get(mensagem_id, []):
        if evento.estado is not None and e_final(evento, regras):
            recebidos.setdefault(evento.estado.value, set()).add(evento.parte)
    partes = sorted({parte for lugar in recebidos.values() for parte in lugar if parte is not None})
    da_inteira = " — a mensagem inteira" if partes else ""
    return [
        *((f"{estado}@{INTEIRA}", f"{estado}{da_inteira}") for estado in recebidos),
        *(
            (f"{estado}@{parte}", f"{estado} — só a parte {parte}")
            for parte in partes
            for estado, lugar in recebidos.items()
            if parte in lugar or None in lugar
        ),
    ]


def prever(ids: Sequence[int]) -> tuple[int, list[dict[str, Any]]]:
    """Quantas se resolveriam ao reprocessar, e o desfecho de cada uma. Roda de verdade e desfaz."""
    resultados = excecoes.prever_reprocesso(ids)
    return sum(resultado["situacao"] == RESOLVIDA for resultado in resultados), resultados
