"""As contestações, uma em cada situação: quem pede é a demonstração, quem responde são os aparelhos, pelas rotas."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from ingestao.capturas import pedidos
from ingestao.models import Captura, Pedido
from painel.demonstracao.aparelhos import APARELHOS, Visto, ver_a_semana
from painel.demonstracao.cadastro import Caderno
from painel.demonstracao.capturas import Ligado, ligar
from painel.demonstracao.chamada import Cliente
from painel.demonstracao.semente import Tamanho

PEDACO_BYTES = 8 * 1024  # pequeno, para um quadro ir em alguns pedaços
TUS = {"Tus-Resumable": "1.0.0", "Content-Type": "application/offset+octet-stream"}


def contestar(
    cliente: Cliente, caderno: Caderno, agora: datetime, tamanho: Tamanho, avancar: Callable[[str, int], Any]
) -> None:
    """A etapa das contestações, inteira. Nenhum reenvio: quem já tem contestação fica como está."""
    historias = (_atender, _atender, _parar_no_meio, _nem_ver, _nao_ter_mais, _divergir, _vencer, _desistir)
    avancou = avancar("contestações", len(historias))
    portaria = ligar(cliente, caderno, APARELHOS[0], agora)
    vistos = ver_a_semana(portaria.aparelho, caderno.semente, tamanho, agora)
    for historia, visto in zip(historias, reversed(vistos), strict=False):
        captura = Captura.objects.defer("recorte").get(pk=visto.id_evento)
        if not captura.pedidos.exists():
            historia(portaria, visto, captura)
        avancou()


def _abrir(ligado: Ligado, captura: Captura, motivo: str, **opcoes: Any) -> Pedido:
    return pedidos.abrir_pedido(captura, motivo, ligado.caderno.autor, **opcoes)


def _atender(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """O quadro sobe aos pedaços, confere, e alguém o olha."""
    pedido = _abrir(ligado, captura, "O motorista diz que a placa não é a dele.")
    _subir(ligado, pedido, visto.pintar(ligado.caderno.semente).quadro)
    pedidos.registrar_visualizacao(pedido, ligado.caderno.autor)


def _parar_no_meio(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """Faltou rede: continua de onde parou quando ela voltar."""
    pedido = _abrir(ligado, captura, "A leitura da placa está ilegível no recorte.")
    quadro = visto.pintar(ligado.caderno.semente).quadro
    _subir(ligado, pedido, quadro[: len(quadro) // 2])


def _nem_ver(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """Acabou de ser aberta."""
    _abrir(ligado, captura, "Auditoria: conferir se havia alguém atrás do veículo.")


def _nao_ter_mais(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """O aparelho responde que não guardou."""
    pedido = _abrir(ligado, captura, "O seguro pediu a imagem inteira.")
    rota = f"/captura/quadros/{pedido.pk}/indisponivel"
    ligado.cliente.mandar_json(rota, {"motivo": "despejado_por_espaco"}, ligado.cabecalhos())


def _divergir(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """O que sobe não é o quadro da captura, três vezes: o pedido se encerra."""
    pedido = _abrir(ligado, captura, "Duas câmeras mostram carros diferentes no mesmo instante.")
    outro = bytearray(visto.pintar(ligado.caderno.semente).quadro)
    outro[len(outro) // 2] ^= 0xFF
    for _ in range(3):
        _subir(ligado, pedido, bytes(outro))


def _vencer(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """Ninguém respondeu no prazo, que aqui é de nada."""
    _abrir(ligado, captura, "Conferir o horário da saída.", prazo=timedelta(0))
    while pedidos.vencer_pedidos(timezone.now()):
        pass


def _desistir(ligado: Ligado, visto: Visto, captura: Captura) -> None:
    """Quem pediu desistiu."""
    pedido = _abrir(ligado, captura, "Placa parecida com a de um veículo procurado.")
    pedidos.cancelar(pedido, "Era outro veículo: o recorte já basta.", ligado.caderno.autor)


def _subir(ligado: Ligado, pedido: Pedido, bytes_: bytes) -> None:
    """Os pedaços, em ordem, como manda o tus."""
    for inicio in range(0, len(bytes_), PEDACO_BYTES):
        cabecalhos = {**TUS, **ligado.cabecalhos(), "Upload-Offset": str(inicio)}
        pedaco = bytes_[inicio : inicio + PEDACO_BYTES]
        ligado.cliente.chamar("PATCH", f"/captura/quadros/{pedido.pk}", pedaco, cabecalhos)
