"""Os sites da demonstração: as páginas, o que se clica nelas e os caminhos que as pessoas fazem. Puro."""

from dataclasses import dataclass

from painel.demonstracao.defeitos import DEFEITOS, Defeito


@dataclass(frozen=True, slots=True, kw_only=True)
class Passo:
    """Uma página do caminho: o que se clica nela e o que ela pede ao servidor."""

    pagina: str
    titulo: str
    clique: tuple[str, str] | None = None
    requisicao: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Um site da demonstração. `so_deste_mes`: as visitas não passam do mês, porque a franquia dele é o assunto."""

    apelido: str
    nome: str
    visitas: int
    caminhos: tuple[tuple[Passo, ...], ...]
    so_deste_mes: bool = False

    @property
    def defeitos(self) -> tuple[Defeito, ...]:
        """Os erros deste site."""
        return tuple(defeito for defeito in DEFEITOS if defeito.site == self.apelido)


_INICIO = Passo(pagina="/", titulo="Início", clique=("a.vitrine-item", "Cadeira Aurora"))
_PRODUTO = Passo(
    pagina="/produto/cadeira-aurora",
    titulo="Cadeira Aurora",
    clique=("button#comprar", "Comprar"),
    requisicao=("POST", "/api/carrinho"),
)
_CARRINHO = Passo(
    pagina="/carrinho",
    titulo="Carrinho",
    clique=("a.finalizar", "Finalizar compra"),
    requisicao=("GET", "/api/carrinho"),
)
_CHECKOUT = Passo(
    pagina="/checkout",
    titulo="Pagamento",
    clique=("button[type=submit]", "Pagar agora"),
    requisicao=("POST", "/api/pedidos"),
)
_PEDIDO = Passo(pagina="/pedido/acompanhar", titulo="Seu pedido", requisicao=("GET", "/api/pedidos/recentes"))

SITES = (
    Site(
        apelido="loja-aurora",
        nome="Loja Aurora",
        visitas=130,
        caminhos=(
            (_INICIO, _PRODUTO),
            (_INICIO, _PRODUTO, _CARRINHO),
            (_INICIO, _PRODUTO, _CARRINHO, _CHECKOUT),
            (_INICIO, _PRODUTO, _CARRINHO, _CHECKOUT, _PEDIDO),
            (_PEDIDO,),
        ),
    ),
    Site(
        apelido="portal-do-cidadao",
        nome="Portal do Cidadão",
        visitas=80,
        so_deste_mes=True,
        caminhos=(
            (
                Passo(pagina="/", titulo="Serviços", clique=("nav a[href='/agendamento']", "Agendar")),
                Passo(
                    pagina="/agendamento",
                    titulo="Agendamento",
                    clique=("button.horario", "14:30"),
                    requisicao=("GET", "/api/horarios"),
                ),
            ),
            (
                Passo(pagina="/", titulo="Serviços", clique=("nav a[href='/documentos']", "Meus documentos")),
                Passo(
                    pagina="/documentos", titulo="Meus documentos", requisicao=("GET", "/api/documentos.pdf")
                ),
            ),
        ),
    ),
    Site(
        apelido="clube-de-pontos",
        nome="Clube de Pontos",
        visitas=35,
        so_deste_mes=True,
        caminhos=(
            (
                Passo(pagina="/", titulo="Seus pontos", requisicao=("GET", "/api/saldo")),
                Passo(
                    pagina="/resgate",
                    titulo="Resgatar",
                    clique=("button.resgatar", "Resgatar"),
                    requisicao=("POST", "/api/resgates"),
                ),
            ),
        ),
    ),
)
