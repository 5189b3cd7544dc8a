"""As fichas da página de uma captura: os números, a imagem e a identidade."""

from ingestao.models import Captura
from painel.admin.capturas.desenho import calcular_razao
from painel.admin.ficha import Linha, mostrar_instante, mostrar_quantidade
from painel.graficos import mostrar_bytes, mostrar_duracao, mostrar_percentual


def listar_numeros(captura: Captura) -> list[Linha]:
    """Os números do alto."""
    reenvios = captura.reenvios_link + captura.reenvios_fila
    detalhe = f" ({captura.reenvios_link} por link, {captura.reenvios_fila} por fila)" if reenvios else ""
    return [
        Linha(rotulo="Gravada em", valor=mostrar_instante(captura.gravado_em)),
        Linha(rotulo="Da captura ao ACK", valor=mostrar_duracao(captura.latencia_ms)),
        Linha(rotulo="Maior tentativa", valor=mostrar_quantidade(captura.maior_tentativa)),
        Linha(rotulo="Reenvios", valor=f"{mostrar_quantidade(reenvios)}{detalhe}"),
        Linha(rotulo="Recorte ÷ quadro", valor=mostrar_percentual(calcular_razao(captura))),
    ]


def montar_imagem(captura: Captura) -> list[Linha]:
    """O recorte que veio e o quadro que ficou no aparelho."""
    linhas = []
    if captura.recorte_sha256:
        lados = f"{captura.recorte_largura} × {captura.recorte_altura} px"
        linhas.append(Linha(rotulo="Recorte", valor=f"{lados}, {mostrar_bytes(captura.recorte_bytes)}"))
    if captura.quadro_sha256:
        lados = f"{captura.quadro_largura} × {captura.quadro_altura} px"
        linhas += [
            Linha(rotulo="Quadro", valor=f"{lados}, {mostrar_bytes(captura.quadro_bytes)}"),
            Linha(rotulo="SHA-256 do quadro", valor=captura.quadro_sha256),
        ]
    if captura.caixa_largura is not None:
        lados = (
            f"{captura.caixa_largura} × {captura.caixa_altura} px em ({captura.caixa_x}, {captura.caixa_y})"
        )
        linhas.append(
            Linha(rotulo="Caixa", valor=f"{lados}, margem pedida de {captura.caixa_margem or 0} px")
        )
    if captura.quadro_expira_em:
        linhas.append(Linha(rotulo="Guardado até", valor=mostrar_instante(captura.quadro_expira_em)))
    return linhas


def montar_identidade(captura: Captura) -> list[Linha]:
    """Os ids e os resumos: o que faz dela a mesma captura num reenvio."""
    linhas = [
        Linha(rotulo="Id do evento", valor=str(captura.pk)),
        Linha(rotulo="Sequência", valor=mostrar_quantidade(captura.seq)),
        Linha(rotulo="Resumo do conteúdo", valor=captura.conteudo_resumo),
    ]
    if captura.recorte_sha256:
        linhas.append(Linha(rotulo="SHA-256 do recorte", valor=captura.recorte_sha256))
    return linhas
