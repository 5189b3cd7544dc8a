"""Erros: a lista que o suporte tria e a página de um grupo."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from ingestao.eventos.agrupamento import QUADROS, imprimir, separar_partes
from ingestao.models import Erro, EstadoDoErro, Evento, TipoDeEvento
from painel.admin.ficha import Linha, mostrar_instante, mostrar_quantidade
from painel.admin.filtros import FICHAS, Escolha, Filtro, Periodo, PorAplicativo, PorDono, ler_uuid
from painel.admin.ingestao.ocorrencias import OLHADAS, POR_DIA, contar_por_dia, listar_sessoes
from painel.admin.ingestao.triagem import ATOS, Verbo
from painel.admin.ingestao.triagem_na_tela import FormularioDeTriagem, TriagemDeErros
from painel.admin.recentes import PorNovidade
from painel.admin.revelacao import ComRevelacao, leitor
from painel.admin.tabela_grande import recortar
from painel.admin.texto_alheio import resumir
from painel.graficos import Grafico, Serie, Tom, montar_barras, rotular_dias

AMOSTRAS = 10
ATOS_MOSTRADOS = 100
CORES_DOS_ESTADOS = {
    EstadoDoErro.ABERTO: "danger",
    EstadoDoErro.RESOLVIDO: "success",
    EstadoDoErro.IGNORADO: "",
}
REGREDIU = "regrediu"
MAIS_OCORRENCIAS = "ocorrencias"


class PorEstado(Escolha):
    title = "estado"
    parameter_name = campo = "estado"
    template = FICHAS

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [*EstadoDoErro.choices, (REGREDIU, "Regrediu")]

    def filtrar(self, queryset: QuerySet) -> QuerySet:
        if self.value() == REGREDIU:
            return queryset.filter(regrediu_em__isnull=False, estado=EstadoDoErro.ABERTO)
        return super().filtrar(queryset)


class PorTipoDeErro(Escolha):
    title = "tipo"
    parameter_name = campo = "tipo"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        tipos = (TipoDeEvento.ERRO_JS, TipoDeEvento.PROMISE_REJEITADA, TipoDeEvento.CONSOLE)
        return [(tipo.value, tipo.label) for tipo in tipos]


class PorOrdem(Filtro):
    """A ordem da lista, entre as duas que têm índice."""

    title = "ordem"
    parameter_name = "ordem"
    template = FICHAS
    tudo = "Mais recentes"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(MAIS_OCORRENCIAS, "Mais ocorrências")]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset


@admin.register(Erro)
class ErroAdmin(ComRevelacao, TriagemDeErros):
    o_que_revela = "os telefones e os segredos do erro"
    change_form_template = "painel/erro.html"
    list_display = (
        "titulo_do_erro",
        "situacao",
        "aplicativo",
        "quantas",
        "ultima",
        "voltou",
        "quem_cuida",
    )
    list_filter = (PorOrdem, PorAplicativo, Periodo, PorEstado, PorTipoDeErro, PorNovidade, PorDono)
    list_select_related = ("aplicativo", "atribuido_a")
    search_fields = ("titulo",)
    search_help_text = "Texto do título, id ou impressão digital"
    ordering = ("-ultima_ocorrencia_em", "-id")  # índice erro_por_ocorrencia
    coluna_do_tempo = "ultima_ocorrencia_em"  # o período é sempre dela, também na ordem por ocorrências

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """A do índice erro_por_ocorrencia; pedida, a do índice erro_por_quantidade."""
        por_quantidade = request.GET.get(PorOrdem.parameter_name) == MAIS_OCORRENCIAS
        return ("-quantidade", "-id") if por_quantidade else self.ordering

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet, search_term: str
    ) -> tuple[QuerySet, bool]:
        termo = search_term.strip()
        if not termo:
            return queryset, False
        if (id_ := ler_uuid(termo)) is not None:
            return queryset.filter(pk=id_), False
        queryset, recortou = recortar(queryset, self.get_ordering(request)[0].lstrip("-"))
        request.busca_recortada = recortou  # type: ignore[attr-defined]
        campo = "impressao" if len(termo) == 64 and termo.isalnum() else "titulo__icontains"
        return queryset.filter(**{campo: termo}), False

    @display(description="Erro")
    def titulo_do_erro(self, erro: Erro) -> SafeString | None:
        return resumir(erro.titulo, 90)

    @display(description="Estado", label=CORES_DOS_ESTADOS)
    def situacao(self, erro: Erro) -> tuple[str, str]:
        return EstadoDoErro(erro.estado), erro.get_estado_display()

    @display(description="Ocorrências")
    def quantas(self, erro: Erro) -> str:
        return mostrar_quantidade(erro.quantidade)

    @display(description="Última")
    def ultima(self, erro: Erro) -> SafeString | str:
        return mostrar_instante(erro.ultima_ocorrencia_em, com_ano=False)

    @display(description="Regressões", label={True: "warning"})
    def voltou(self, erro: Erro) -> tuple[bool, str] | None:
        return (True, f"{erro.regressoes}×") if erro.regressoes else None

    @display(description="Quem cuida")
    def quem_cuida(self, erro: Erro) -> str | None:
        return str(erro.atribuido_a) if erro.atribuido_a else None

    def nomear(self, registro: Erro) -> str:
        return f"Erro {str(registro.pk)[:8]}"

    def montar_pagina(self, request: HttpRequest, registro: Erro) -> dict[str, Any]:
        ler = leitor(request)
        # Índice evento_do_erro, de trás para a frente.
        amostras = list(
            Evento.objects.filter(erro_id=registro.pk)
            .defer("payload")
            .order_by("-criado_em", "-id")[:AMOSTRAS]
        )
        sessoes, quantas_sessoes, olhadas = listar_sessoes(registro.pk)
        return {
            "titulo": ler(registro.titulo),
            "cor": CORES_DOS_ESTADOS[EstadoDoErro(registro.estado)],
            "numeros": _numeros(registro, quantas_sessoes, olhadas),
            "grafico": _desenhar(registro),
            "agrupamento": _explicar_agrupamento(registro, amostras, ler),
            "amostras": [
                {
                    "evento": amostra,
                    "mensagem": resumir(amostra.mensagem or amostra.nome),
                    "onde": resumir(amostra.url, 60),
                    "pilha": ler(amostra.pilha or ""),
                }
                for amostra in amostras
            ],
            "sessoes": [{"sessao": sessao, "quem": resumir(sessao.quem, 60)} for sessao in sessoes],
            "quantas_sessoes": quantas_sessoes,
            "olhadas": olhadas,
            "botoes": _botoes(registro) if self.has_triagem_permission(request) else [],
            "formulario": FormularioDeTriagem(initial={"responsavel": registro.atribuido_a_id}),
            "url_da_triagem": reverse("admin:ingestao_erro_triagem", args=[registro.pk]),
            "trilha": [
                {"ato": ato, "nome": ATOS.get(ato.acao, ato.acao), "nota": ler(ato.nota)}
                for ato in registro.acoes.select_related("autor")[:ATOS_MOSTRADOS]
            ],
        }


def _botoes(erro: Erro) -> list[tuple[str, str]]:
    """Só as decisões que mudam alguma coisa."""
    rotulos = {Verbo.RESOLVER: "Resolver", Verbo.IGNORAR: "Ignorar", Verbo.REABRIR: "Reabrir"}
    return [(verbo.name, rotulo) for verbo, rotulo in rotulos.items() if verbo.value.estado != erro.estado]


def _desenhar(erro: Erro) -> Grafico:
    """Ocorrências por dia; o dia que passa de `POR_DIA` é desenhado nele, e o título o diz."""
    contagens = contar_por_dia(erro.pk, timezone.localdate())
    passou = any(quantas > POR_DIA for _, quantas in contagens)
    return montar_barras(
        id="ocorrencias",
        titulo=f"Ocorrências por dia{f' (até {mostrar_quantidade(POR_DIA)} em cada um)' if passou else ''}",
        rotulos=rotular_dias([dia for dia, _ in contagens]),
        series=[
            Serie(
                nome="ocorrências",
                tom=Tom.VERMELHO,
                valores=[min(quantas, POR_DIA) for _, quantas in contagens],
            )
        ],
        vazio="As ocorrências já passaram da retenção.",
    )


def _numeros(erro: Erro, sessoes: int, olhadas: int) -> list[Linha]:
    mais = "+" if olhadas == OLHADAS else ""
    linhas = [
        Linha(rotulo="Ocorrências", valor=mostrar_quantidade(erro.quantidade)),
        Linha(rotulo="Sessões", valor=f"{mostrar_quantidade(sessoes)}{mais}"),
        Linha(rotulo="Primeira", valor=mostrar_instante(erro.primeira_ocorrencia_em)),
        Linha(rotulo="Última", valor=mostrar_instante(erro.ultima_ocorrencia_em)),
        Linha(rotulo="Regressões", valor=mostrar_quantidade(erro.regressoes)),
    ]
    if erro.regrediu_em:
        linhas.append(Linha(rotulo="Voltou em", valor=mostrar_instante(erro.regrediu_em)))
    if erro.estado == EstadoDoErro.RESOLVIDO:
        linhas.append(Linha(rotulo="Resolvido em", valor=mostrar_instante(erro.resolvido_em)))
        linhas.append(Linha(rotulo="Resolvido por", valor=str(erro.resolvido_por or "usuário apagado")))
    return linhas


def _explicar_agrupamento(erro: Erro, amostras: list[Evento], ler: Callable[[str], str]) -> list[Linha]:
    """As partes da impressão digital, refeitas da amostra mais recente, e se elas dão a que está gravada."""
    digital = Linha(rotulo="Impressão digital", valor=erro.impressao, ajuda=f"Regra versão {erro.versao}.")
    if not amostras:
        topo = ler(erro.local) or "a pilha não veio ou não foi reconhecida"
        return [Linha(rotulo="Topo da pilha", valor=topo), digital]
    campos = ("tipo", "nome", "mensagem", "pilha", "arquivo")
    partes = separar_partes({campo: getattr(amostras[0], campo) for campo in campos})
    _, tipo, nome, mensagem, *quadros = map(ler, partes)
    confere = (
        "É o SHA-256 das partes acima."
        if imprimir(partes) == erro.impressao
        else (
            "A amostra mais recente não basta para refazê-la: a pilha foi cortada ao gravar, ou a regra mudou."
        )
    )
    return [
        Linha(rotulo="Tipo", valor=tipo),
        Linha(rotulo="Nome", valor=nome or "não veio"),
        Linha(
            rotulo="Mensagem",
            valor=mensagem or "não veio",
            ajuda="Números, ids, e-mails, URLs e datas viram marcas.",
        ),
        Linha(
            rotulo="Quadros da pilha",
            valor="\n".join(quadros) or "a pilha não veio ou não foi reconhecida",
            ajuda=f"Até {QUADROS}, do topo: função e arquivo, sem linha, coluna nem marca de build.",
        ),
        Linha(
            rotulo="Impressão digital", valor=erro.impressao, ajuda=f"Regra versão {erro.versao}. {confere}"
        ),
    ]
