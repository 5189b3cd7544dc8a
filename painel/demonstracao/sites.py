"""Os sites mandam: as visitas da semana, a triagem dos erros, o que volta, e o que é recusado."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from ingestao.eventos.agrupamento import agrupar
from ingestao.models import Aplicativo, Erro, EstadoDoErro, Lote, PoliticaDeFranquia
from painel.admin.ingestao.triagem import Verbo, anotar, atribuir, triar
from painel.demonstracao import tempo
from painel.demonstracao.cadastro import Caderno, garantir_aplicativo
from painel.demonstracao.chamada import Cliente, Resposta, fazer_ao_mesmo_tempo
from painel.demonstracao.defeitos import Destino
from painel.demonstracao.lugares import SITES, Site
from painel.demonstracao.semente import DIAS, Tamanho
from painel.demonstracao.visitas import Visita, contar_visitas, contar_volta, dividir

ROTA = "/evento/ingestao"
EVENTOS_POR_LOTE = 25
PULSOS_POR_LOTE = 120
LOTES_ATE_O_LIMITE = 60  # 6.000 por minuto são cinquenta destes; o 429 vem antes do último
FOLGA_DA_FRANQUIA = {"loja-aurora": 3.1, "portal-do-cidadao": 1.13, "clube-de-pontos": 1.0}
SO_PULSOS = "sonda"


@dataclass(slots=True, kw_only=True)
class Envio:
    """O que se mandou dos sites: os aplicativos, e o que foi recusado e em que dia devia aparecer."""

    cliente: Cliente
    caderno: Caderno
    agora: datetime
    tamanho: Tamanho
    aplicativos: dict[str, Aplicativo] = field(default_factory=dict)
    recusas: list[tempo.RecusaDeSite] = field(default_factory=list)

    def mandar(self, visita: Visita) -> None:
        """Os lotes de uma visita, na ordem."""
        for lote in dividir(visita, EVENTOS_POR_LOTE):
            self.postar(lote.site, lote.sessao, lote.eventos, pais=lote.pais)

    def postar(
        self,
        site: str,
        sessao: Any,
        eventos: list[Any],
        *,
        pais: str = "",
        origem: str = "",
        chave: str = "",
        esperar_a_vez: bool = True,
    ) -> Resposta:
        """Um lote, como a página o manda."""
        aplicativo = self.aplicativos[site]
        cabecalhos = {"Origin": origem or f"https://{aplicativo.dominios[0]}", "CF-IPCountry": pais}
        corpo = {"chave": chave or aplicativo.chave, "sessao": sessao, "eventos": eventos}
        return self.cliente.mandar_json(ROTA, corpo, cabecalhos, esperar_a_vez=esperar_a_vez)


def mandar_sites(
    cliente: Cliente, caderno: Caderno, agora: datetime, tamanho: Tamanho, avancar: Callable[[str, int], Any]
) -> None:
    """A etapa dos sites, inteira. `avancar(o que, quantos faltam)` devolve quem chamar a cada um feito."""
    envio = Envio(cliente=cliente, caderno=caderno, agora=agora, tamanho=tamanho)
    comecou_em = timezone.now()
    visitas = [visita for site in SITES for visita in _preparar(envio, site)]
    fazer_ao_mesmo_tempo(visitas, envio.mandar, avancar("visitas aos sites", len(visitas)))
    esperar_a_caixa(envio)
    _triar_e_voltar(envio)
    esperar_a_caixa(envio)
    _ser_recusado(envio)
    esperar_a_caixa(envio)
    tempo.espalhar_sites([a.pk for a in envio.aplicativos.values()], agora)
    tempo.espalhar_recusas_de_sites(envio.recusas, comecou_em)


def _preparar(envio: Envio, site: Site) -> list[Visita]:
    """O aplicativo do site, com a franquia que a história pede, e as visitas a ele."""
    visitas = contar_visitas(site, envio.caderno.semente, envio.tamanho, envio.agora)
    gravaveis = sum(visita.gravaveis for visita in visitas)
    folga = FOLGA_DA_FRANQUIA[site.apelido]
    envio.aplicativos[site.apelido] = garantir_aplicativo(
        envio.caderno,
        site.apelido,
        site.nome,
        franquia=max(1, round(gravaveis * folga)),
        politica=PoliticaDeFranquia.PARAR_INGESTAO if folga == 1 else PoliticaDeFranquia.SO_AVISAR,
    )
    return visitas


def _triar_e_voltar(envio: Envio) -> None:
    """Uma pessoa tria os erros; depois, alguns dos resolvidos voltam."""
    autor = envio.caderno.autor
    for site in SITES:
        for defeito in site.defeitos:
            if defeito.destino is not Destino.ABERTO:
                verbo = Verbo.IGNORAR if defeito.destino is Destino.IGNORADO else Verbo.RESOLVER
                _triar(envio.aplicativos[site.apelido], defeito.campos, verbo, autor, defeito.nota)
    _dar_dono(envio)
    agora = timezone.now()
    for site in SITES:
        for visita in contar_volta(site, envio.caderno.semente, agora):
            envio.mandar(visita)


def _dar_dono(envio: Envio) -> None:
    """O erro mais frequente da loja tem quem cuide dele, e o que já se sabe."""
    erros = Erro.objects.filter(aplicativo=envio.aplicativos["loja-aurora"], estado=EstadoDoErro.ABERTO)
    pior = erros.order_by("-quantidade", "pk").first()
    if pior is not None:
        autor = envio.caderno.autor
        atribuir([pior.pk], autor, autor, timezone.now(), nota="aparece no pagamento")
        anotar(pior.pk, autor, timezone.now(), nota="Só com o carrinho vazio noutra aba. Reproduzido.")


def _triar(aplicativo: Aplicativo, campos: Any, verbo: Verbo, autor: User, nota: str) -> None:
    """Tria os grupos deste erro; o título é o que o servidor lhes deu."""
    titulo = agrupar({"nome": "", "mensagem": "", **campos}).titulo
    ids = list(Erro.objects.filter(aplicativo=aplicativo, titulo=titulo).values_list("pk", flat=True))
    triar(ids, verbo, autor, timezone.now(), nota=nota)


def esperar_a_caixa(envio: Envio) -> None:
    """Espera os workers aplicarem o que se mandou."""
    ids = [aplicativo.pk for aplicativo in envio.aplicativos.values()]
    tempo.esperar_vazia(Lote, Lote.objects.filter(aplicativo__in=ids) | Lote.objects.filter(aplicativo=None))


# ---- O que é recusado, e quando devia ter sido


def _ser_recusado(envio: Envio) -> None:
    """Uma recusa de cada motivo que um site de verdade encontra, espalhadas pela semana."""
    acaso = envio.caderno.semente.sorteio("recusas dos sites")

    def sessao(nome: str) -> dict[str, str]:
        return {"sessao_externa": str(envio.caderno.semente.uuid(nome))}

    def quando() -> datetime:
        return envio.agora - timedelta(days=acaso.uniform(0, DIAS - 0.5))

    um = [{"evento_id": "copia", "tipo": "PAGINA", "url": "https://copia-da-loja.example/"}]
    for _ in range(14):
        _anotar(
            envio,
            "loja-aurora",
            envio.postar("loja-aurora", sessao("copia"), um, origem="https://copia-da-loja.example"),
            quando(),
            1,
        )
    for _ in range(6):
        resposta = envio.postar(
            "loja-aurora", sessao("antiga"), um, chave=f"pk_live_{envio.caderno.semente.slug('loja-antiga')}"
        )
        _anotar(envio, None, resposta, quando(), 1)
    tortos = [{"evento_id": f"torto-{n}", "tipo": "CLICK"} for n in range(3)] + [
        {"evento_id": "", "tipo": "PAGINA"}
    ]
    for _ in range(9):
        _anotar(
            envio,
            "portal-do-cidadao",
            envio.postar("portal-do-cidadao", sessao("torta"), tortos),
            quando(),
            4,
        )
    for _ in range(5):
        # O corte da rede no meio do corpo.
        resposta = envio.cliente.chamar(
            "POST", ROTA, b'{"chave": "pk_live_', {"Origin": "https://rede-ruim.example"}
        )
        _anotar(envio, None, resposta, quando(), 0)
    for n in range(8):
        resposta = envio.postar(
            "clube-de-pontos", sessao(f"clube-{n}"), [{"evento_id": f"tarde-{n}", "tipo": "PAGINA"}] * 6
        )
        _anotar(envio, "clube-de-pontos", resposta, envio.agora - timedelta(minutes=acaso.uniform(1, 50)), 6)
    _passar_do_limite(envio)


def _passar_do_limite(envio: Envio) -> None:
    """Uma sonda com defeito manda pulsos sem parar até a porta dizer que chega."""
    semente, nome = envio.caderno.semente, "portal-do-cidadao"
    ha_pouco = (envio.agora - timedelta(hours=3)).isoformat()
    pulsos = [
        {"evento_id": f"{SO_PULSOS}-{n}", "tipo": "PULSO", "ocorrido_em": ha_pouco}
        for n in range(PULSOS_POR_LOTE)
    ]
    sessao = {"sessao_externa": str(semente.uuid(SO_PULSOS)), "navegador": "sonda de disponibilidade"}
    for _ in range(LOTES_ATE_O_LIMITE):
        resposta = envio.postar(nome, sessao, pulsos, esperar_a_vez=False)
        if resposta.status == 429:
            _anotar(envio, nome, resposta, envio.agora, PULSOS_POR_LOTE)
            return


def _anotar(envio: Envio, site: str | None, resposta: Resposta, quando: datetime, eventos: int) -> None:
    """Guarda o que a resposta diz que se contou, para pôr no dia `quando`."""
    aplicativo_id = envio.aplicativos[site].pk if site else None
    lida = resposta.json()
    if "codigo" in lida:
        contadas = {lida["codigo"]: (1, eventos)}
    else:
        contadas = {c: (0, n) for c, n in Counter(r["codigo"] for r in lida["recusas"]).items()}
    for motivo, (requisicoes, quantos) in contadas.items():
        envio.recusas.append(
            tempo.RecusaDeSite(
                aplicativo_id=aplicativo_id,
                motivo=motivo,
                requisicoes=requisicoes,
                eventos=quantos,
                quando=quando,
            )
        )
