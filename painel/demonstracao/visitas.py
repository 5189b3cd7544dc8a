"""O que acontece numa visita a um site: páginas, cliques, requisições, demora, e os defeitos no caminho. Puro."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from painel.demonstracao.defeitos import Defeito, Destino
from painel.demonstracao.lugares import Passo, Site
from painel.demonstracao.semente import Semente, Tamanho, sortear_instantes

PUBLICADO_HA = timedelta(hours=22)

APARELHOS = (
    {
        "navegador": "Chrome 149",
        "sistema_operacional": "Android 16",
        "dispositivo": "celular",
        "resolucao": "412x915",
    },
    {
        "navegador": "Safari 19",
        "sistema_operacional": "iOS 19",
        "dispositivo": "celular",
        "resolucao": "390x844",
    },
    {
        "navegador": "Chrome 149",
        "sistema_operacional": "Windows 11",
        "dispositivo": "computador",
        "resolucao": "1920x1080",
    },
    {
        "navegador": "Firefox 151",
        "sistema_operacional": "Linux",
        "dispositivo": "computador",
        "resolucao": "1366x768",
    },
    {
        "navegador": "Edge 149",
        "sistema_operacional": "Windows 11",
        "dispositivo": "computador",
        "resolucao": "1536x864",
    },
)
PAISES = ("BR", "BR", "BR", "BR", "BR", "BR", "PT", "AR", "US", "")
PESSOAS = tuple(
    "maria.clara joao.pedro ana.beatriz lucas.moreira helena.dias rafael.nunes camila.rocha bruno.teixeira "
    "leticia.prado diego.martins sofia.azevedo thiago.lopes".split()
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visita:
    """Um lote por mandar: a sessão, os eventos e o país que a borda anotaria."""

    site: str
    sessao: dict[str, Any]
    eventos: list[dict[str, Any]]
    pais: str

    @property
    def gravaveis(self) -> int:
        """Quantos contam na franquia: PULSO só marca atividade."""
        return sum(evento["tipo"] != "PULSO" for evento in self.eventos)


def contar_visitas(site: Site, semente: Semente, tamanho: Tamanho, agora: datetime) -> list[Visita]:
    """As visitas da semana ao site, da mais antiga à mais nova. Nenhum instante passa de `agora`."""
    acaso = semente.sorteio(f"visitas a {site.apelido}")
    mes = agora.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    comecos = sortear_instantes(
        acaso, site.visitas * tamanho.vezes, agora=agora, desde=mes if site.so_deste_mes else None
    )
    return [
        _contar_visita(site, semente, acaso, numero, comeco, agora)
        for numero, comeco in enumerate(comecos, start=1)
    ]


def contar_volta(site: Site, semente: Semente, agora: datetime) -> list[Visita]:
    """As visitas de agora mesmo em que os erros resolvidos voltam, e os ignorados continuam."""
    acaso = semente.sorteio(f"volta de {site.apelido}")
    voltam = [d for d in site.defeitos if d.destino in (Destino.VOLTOU, Destino.IGNORADO)]
    visitas = []
    for numero, defeito in enumerate(voltam, start=1):
        historia = _Historia(
            site=site,
            semente=semente,
            acaso=acaso,
            nome=f"{site.apelido}-volta-{numero}",
            agora=agora,
            relogio=agora - timedelta(seconds=acaso.uniform(5, 15)),
        )
        historia.contar("PAGINA", url=historia.url(defeito.pagina), nome="De volta")
        historia.falhar(defeito)
        visitas.append(historia.fechar(pessoa=acaso.choice(PESSOAS)))
    return visitas


def _contar_visita(
    site: Site, semente: Semente, acaso: random.Random, numero: int, comeco: datetime, agora: datetime
) -> Visita:
    historia = _Historia(
        site=site,
        semente=semente,
        acaso=acaso,
        nome=f"{site.apelido}-visita-{numero}",
        agora=agora,
        relogio=comeco,
    )
    pessoa = acaso.choice(PESSOAS) if acaso.random() < 0.55 else None
    for posicao, passo in enumerate(acaso.choice(site.caminhos)):
        historia.passar_por(passo, primeira=posicao == 0)
        if posicao == 0 and pessoa is not None:
            historia.contar("IDENTIFICACAO", usuario_id=pessoa)
        for defeito in site.defeitos:
            if defeito.acontece_em(passo.pagina) and (comeco > agora - PUBLICADO_HA or not defeito.novo):
                historia.talvez_falhar(defeito)
    return historia.fechar(pessoa=None)


@dataclass(slots=True, kw_only=True)
class _Historia:
    """Uma visita sendo contada: cada evento adianta o relógio dela, que nunca passa de `agora`."""

    site: Site
    semente: Semente
    acaso: random.Random
    nome: str
    agora: datetime
    relogio: datetime

    _eventos: list[dict[str, Any]] = field(init=False, default_factory=list)

    @property
    def _dominio(self) -> str:
        return f"{self.semente.slug(self.site.apelido)}.example"

    def url(self, caminho: str) -> str:
        return f"https://{self._dominio}{caminho}"

    def contar(self, tipo: str, *, apos_s: float = 0.4, **campos: Any) -> None:
        """Acrescenta um evento, `apos_s` segundos (mais ou menos) depois do anterior."""
        self.relogio = min(
            self.agora, self.relogio + timedelta(seconds=apos_s * self.acaso.uniform(0.5, 1.6))
        )
        self._eventos.append(
            {
                "evento_id": str(self.semente.uuid(f"{self.nome}#{len(self._eventos)}")),
                "tipo": tipo,
                "ocorrido_em": self.relogio.isoformat(),
                **campos,
            }
        )

    def passar_por(self, passo: Passo, *, primeira: bool) -> None:
        """A página, a demora dela, o que ela pede e o que se clica."""
        aqui = self.url(passo.pagina)
        self.contar("PAGINA", apos_s=9, url=aqui, nome=passo.titulo)
        if primeira:
            self.contar(
                "DESEMPENHO",
                metrica="CARREGAMENTO",
                valor=round(self.acaso.lognormvariate(7.1, 0.5)),
                url=aqui,
            )
            self.contar(
                "DESEMPENHO", metrica="LCP", valor=round(self.acaso.lognormvariate(7.4, 0.4)), url=aqui
            )
        if passo.requisicao:
            self._pedir(*passo.requisicao)
        if passo.clique:
            seletor, texto = passo.clique
            self.contar("CLIQUE", apos_s=12, seletor=seletor, texto=texto, url=aqui)
        if self.acaso.random() < 0.3:
            self.contar("PULSO", apos_s=20)

    def _pedir(self, metodo: str, caminho: str) -> None:
        falhou = self.acaso.random() < 0.07
        self.contar(
            "REQUISICAO",
            apos_s=1,
            metodo=metodo,
            url=self.url(caminho),
            status=self.acaso.choice((500, 502, 504)) if falhou else (201 if metodo == "POST" else 200),
            duracao_ms=round(self.acaso.lognormvariate(8.5 if falhou else 5.2, 0.6), 1),
        )
        if falhou:
            self.contar(
                "CONSOLE", nivel="warn", mensagem=f"{metodo} {caminho} falhou; tentando de novo em 2 s"
            )

    def talvez_falhar(self, defeito: Defeito) -> None:
        """O defeito, se for a vez dele; quem o encontra costuma insistir."""
        if self.acaso.random() < defeito.chance:
            for _ in range(self.acaso.choice((1, 1, 1, 2, 3))):
                self.falhar(defeito)

    def falhar(self, defeito: Defeito) -> None:
        numero = str(self.acaso.randint(10, 99))
        campos = {
            campo: valor.replace("{dominio}", self._dominio).replace("{n}", numero)
            if isinstance(valor, str)
            else valor
            for campo, valor in defeito.campos.items()
        }
        self.contar(campos.pop("tipo"), apos_s=3, url=self.url(defeito.pagina), **campos)

    def fechar(self, *, pessoa: str | None) -> Visita:
        """A visita pronta."""
        if self.acaso.random() < 0.2:
            self.contar(
                "PERSONALIZADO",
                nome="avaliacao",
                valor=self.acaso.randint(1, 5),
                payload={"canal": "rodapé", "pediu_retorno": self.acaso.random() < 0.3},
            )
        sessao = {
            "sessao_externa": str(self.semente.uuid(self.nome)),
            "anonimo_id": f"anon-{self.acaso.randrange(16**8):08x}",
            "pagina_inicial": next((str(e["url"]) for e in self._eventos if "url" in e), None),
            **self.acaso.choice(APARELHOS),
        }
        if pessoa is not None:
            sessao["usuario_id"] = pessoa
        return Visita(
            site=self.site.apelido, sessao=sessao, eventos=self._eventos, pais=self.acaso.choice(PAISES)
        )


def dividir(visita: Visita, maximo: int) -> Iterator[Visita]:
    """A mesma visita em lotes de até `maximo` eventos, como o coletor a mandaria."""
    for inicio in range(0, len(visita.eventos), maximo):
        yield Visita(
            site=visita.site,
            sessao=visita.sessao,
            eventos=visita.eventos[inicio : inicio + maximo],
            pais=visita.pais,
        )
