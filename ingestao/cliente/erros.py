"""Os erros que chegam a quem usa o cliente. Cada um tem um `codigo` estável e uma frase que diz o que fazer."""

from __future__ import annotations


class ErroDoCliente(Exception):
    """A raiz: quem quiser pegar qualquer erro do cliente pega este."""

    codigo = "erro_do_cliente"


class ConfiguracaoInvalida(ErroDoCliente):
    """Falta a URL, o token ou a pasta, ou um valor não serve."""

    codigo = "configuracao_invalida"


class CapturaInvalida(ErroDoCliente, ValueError):
    """O payload não vira JSON, passa do tamanho, ou não há um payload por caixa. Nada foi gravado."""

    codigo = "captura_invalida"


class FilaIndisponivel(ErroDoCliente):
    """O arquivo da fila não pôde ser lido ou escrito. O que não foi gravado não tem id: capture de novo."""

    codigo = "fila_indisponivel"


class SemEspaco(FilaIndisponivel):
    """Disco ou cota da fila cheios: a captura NÃO foi gravada. Há espaço de novo quando o link escoar a fila."""

    codigo = "sem_espaco"


class FilaCheia(SemEspaco):
    """A fila chegou ao espaço configurado para ela (`fila_bytes`): a captura NÃO foi gravada."""

    codigo = "fila_cheia"


class FilaEmUso(ErroDoCliente):
    """Outro processo já envia esta fila. Enfileirar pode; enviar, só um de cada vez."""

    codigo = "fila_em_uso"


class SemLink(ErroDoCliente):
    """Não houve resposta. `conectou` diz se a requisição chegou a sair (e pode ter sido gravada)."""

    codigo = "sem_link"

    def __init__(self, frase: str, *, conectou: bool) -> None:
        super().__init__(frase)
        self.conectou = conectou
