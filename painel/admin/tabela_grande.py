"""Listas sobre milhões de linhas: sem contagem total, numa ordem que um índice entrega.

As três regras que mantêm uma página abaixo de 300 ms com dez milhões de eventos:
1. a contagem para em `CONTAGEM_MAXIMA` (e com ela o OFFSET da última página);
2. a ordem é a do índice, e o `?o=` do endereço não a muda;
3. o que nenhum índice filtra só é procurado nas `JANELA_DE_BUSCA` linhas mais recentes, e a tela o diz.
"""

from collections.abc import Sequence
from typing import Any

from django.contrib.admin import ShowFacets
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.functional import cached_property
from unfold.views import ChangeList

from painel.admin.somente_leitura import PaginaPropria

CONTAGEM_MAXIMA = 10_000  # 200 páginas; quem procura algo mais fundo filtra, não folheia
JANELA_DE_BUSCA = 50_000  # ler tantas linhas de ~700 bytes custa ~60 ms com elas na memória


class PaginadorLimitado(Paginator):
    """Conta no máximo `CONTAGEM_MAXIMA` linhas, por um LIMIT na subconsulta."""

    object_list: QuerySet
    template_name = "painel/paginacao.html"

    @cached_property
    def contagem(self) -> int:
        """Linhas até uma além do teto. A ordem fica na subconsulta de propósito: sem ela o planejador
        varre a tabela desde o começo, onde estão as linhas mais antigas."""
        return self.object_list[: CONTAGEM_MAXIMA + 1].count()

    @cached_property
    def count(self) -> int:
        return min(self.contagem, CONTAGEM_MAXIMA)

    @property
    def passou_do_teto(self) -> bool:
        return self.contagem > CONTAGEM_MAXIMA


class ListaOrdenada(ChangeList):
    """A ordem é a da tela, sempre; os filtros ficam numa barra sobre a tabela, não num painel lateral."""

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        super().__init__(request, *args, **kwargs)
        self.filtros = self.filter_specs
        # Sem contagem total, o “N resultados (mostrar tudo)” do cabeçalho do tema não diria a verdade.
        self.full_result_count = self.result_count
        self.has_filters = False  # o painel lateral do tema; a barra usa `filtros`
        janelas = [
            filtro.janela or JANELA_DE_BUSCA for filtro in self.filtros if getattr(filtro, "recortou", False)
        ]
        # A busca do Django só devolve a consulta; o recorte dela vem anotado na requisição.
        self.aviso = getattr(request, "aviso_da_busca", "")
        if getattr(request, "busca_recortada", False):
            janelas.append(JANELA_DE_BUSCA)
        self.janela = min(janelas, default=0)

    def get_queryset(
        self, request: HttpRequest, exclude_parameters: Sequence[str] | None = None
    ) -> QuerySet[Any]:
        grandes = getattr(self.model_admin, "colunas_grandes", ())
        return super().get_queryset(request, exclude_parameters).defer(*grandes)

    def get_ordering(self, request: HttpRequest, queryset: QuerySet) -> list[str]:
        return list(self.model_admin.get_ordering(request))


class ListaComBarra(PaginaPropria):
    """Uma lista com os filtros à vista, numa barra."""

    change_list_template = "painel/lista.html"
    show_full_result_count = False
    show_facets = ShowFacets.NEVER
    sortable_by = ()
    list_per_page = 50
    list_max_show_all = 0
    colunas_grandes: tuple[str, ...] = ()  # a lista não as lê: moram fora da linha (TOAST)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return ListaOrdenada

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Só os filtros da barra: `?mensagem__regex=` escrito no endereço varreria a tabela."""
        return lookup in {filtro.parameter_name for filtro in self.list_filter}


class TabelaGrande(ListaComBarra):
    """Uma lista que pode ter milhões de linhas. `ordering` é a de um índice, com desempate por `id`."""

    paginator = PaginadorLimitado


def recortar(queryset: QuerySet, campo: str, janela: int = JANELA_DE_BUSCA) -> tuple[QuerySet, bool]:
    """As `janela` linhas mais recentes por `campo` (indexado), e se alguma ficou de fora.

    Custa uma consulta só de índice.
    """
    corte = list(queryset.order_by(f"-{campo}").values_list(campo, flat=True)[janela : janela + 1])
    return (queryset.filter(**{f"{campo}__gte": corte[0]}), True) if corte else (queryset, False)
