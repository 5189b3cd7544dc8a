"""Um aparelho com tudo o que as telas têm para mostrar: manda pela porta, como em produção."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from ingestao.capturas.dispositivos import criar_dispositivo
from ingestao.capturas.pedidos import abrir_pedido
from ingestao.models import Captura, Dispositivo, Pedido
from tests.ingestao.capturas.aparelho import Aparelho, com_caixa, evento, jpeg, quadro, resumir

QUADRO = jpeg(320, 180, 7)


@dataclass(slots=True)
class Campo:
    """Um aparelho e o que dele já chegou."""

    aparelho: Aparelho
    autor: User

    @classmethod
    def criar(cls, autor: User, nome: str = "Portaria") -> "Campo":
        dispositivo, token = criar_dispositivo(nome)
        return cls(Aparelho(dispositivo.pk, token), autor)

    @classmethod
    def montar(cls, autor: User) -> "Campo":
        """Uma contestação cancelada, uma atendida, um conflito, um inválido, um descarte e uma chamada recusada."""
        campo = cls.criar(autor)
        campo.mandar()
        campo.atender(campo.contestar(campo.mandar_com_quadro()))
        repetido = campo.mandar()
        campo.aparelho.postar([evento(id_evento=str(repetido.pk), payload={"outro": 1})])
        campo.aparelho.postar([evento(seq=-1)], descartados={"teto_de_tentativas": 3})
        Client().post("/captura/pulso", b"{}", content_type="application/json")
        return campo

    @property
    def dispositivo(self) -> Dispositivo:
        return Dispositivo.objects.get(pk=self.aparelho.id)

    def mandar(self, recorte: bytes | None = None, **campos: Any) -> Captura:
        """Grava uma captura com recorte (sem, se `caixa=None`) e a devolve."""
        mandado = com_caixa(**campos)
        recortes = {} if mandado["caixa"] is None else {mandado["id_evento"]: recorte or jpeg()}
        resposta = self.aparelho.postar([mandado], recortes)
        assert resposta.json()["resultados"][0]["situacao"] == "gravado", resposta.content
        return Captura.objects.get(pk=mandado["id_evento"])

    def mandar_com_quadro(self, conteudo: bytes = QUADRO, **campos: Any) -> Captura:
        """Uma captura cujo quadro inteiro são estes bytes."""
        caixa = {"x": 100, "y": 60, "largura": 64, "altura": 48, "margem": 8}
        descrito = quadro(largura=320, altura=180, bytes=len(conteudo), sha256=resumir(conteudo))
        return self.mandar(**{"quadro": descrito, "caixa": caixa, **campos})

    def contestar(self, captura: Captura, motivo: str = "O motorista nega a passagem.") -> Pedido:
        return abrir_pedido(captura, motivo, self.autor)

    def atender(self, pedido: Pedido, conteudo: bytes = QUADRO) -> Pedido:
        """O aparelho manda o quadro; devolve o pedido como ficou."""
        assert self.aparelho.enviar_pedaco(pedido.pk, 0, conteudo).status_code in (204, 460)
        pedido.refresh_from_db()
        return pedido
