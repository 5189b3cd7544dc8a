"""Os instantes de uma captura: o que o aparelho disse, o que o servidor viu, e se um desmente o outro."""

from datetime import datetime, timedelta

from ingestao.models import Captura, HoraSuspeita
from painel.admin.ficha import Linha, mostrar_instante
from painel.graficos import mostrar_duracao

POR_QUE = {
    HoraSuspeita.ANTERIOR_A_2020: "O aparelho ligou sem hora certa: a data é anterior a 2020.",
    HoraSuspeita.NO_FUTURO: "A hora do aparelho está mais de dez minutos à frente da do servidor.",
    HoraSuspeita.DIVERGE_DA_IDADE: "A hora e a idade que o aparelho mediu diferem em mais de dez minutos.",
}


def montar_tempos(captura: Captura) -> list[Linha]:
    """As linhas da ficha, do mundo ao ACK."""
    linhas = [
        Linha(
            rotulo="Capturada em",
            valor=mostrar_instante(captura.capturado_em),
            ajuda="Relógio do aparelho, como veio.",
        )
    ]
    if captura.hora_suspeita:
        linhas.append(Linha(rotulo="Hora suspeita", valor=POR_QUE[HoraSuspeita(captura.hora_suspeita)]))
    if (estimada := estimar(captura)) is not None:
        linhas.append(
            Linha(
                rotulo="Pela idade, foi em",
                valor=mostrar_instante(estimada),
                ajuda="A hora do servidor menos a idade; a de chegada, não a do aparelho.",
            )
        )
    if captura.idade_ms is None:
        idade = "desconhecida: o aparelho reiniciou entre a captura e o envio"
    else:
        idade = mostrar_duracao(captura.idade_ms)
    latencia = "não informada" if captura.latencia_ms is None else mostrar_duracao(captura.latencia_ms)
    return [
        *linhas,
        Linha(rotulo="Idade ao ser enviada", valor=idade),
        Linha(
            rotulo="Gravada em",
            valor=mostrar_instante(captura.gravado_em),
            ajuda="Relógio do servidor: o que o ACK devolveu, e devolve a cada reenvio.",
        ),
        Linha(rotulo="Da captura ao ACK", valor=latencia, ajuda="Medida no aparelho, sem relógio de parede."),
    ]


def estimar(captura: Captura) -> datetime | None:
    """Quando foi, pela idade monotônica, se não se confia na hora; None se não há como, ou não é preciso."""
    if not captura.hora_suspeita or captura.idade_ms is None:
        return None
    try:
        return captura.gravado_em - timedelta(milliseconds=captura.idade_ms)
    except OverflowError:  # uma idade de séculos
        return None
