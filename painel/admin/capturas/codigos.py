"""Os códigos das capturas por extenso: os que o servidor dá (docs/captura.md) e os motivos que o aparelho escreve."""

from painel.admin.inerte import neutralizar

RECUSAS = {
    "id_de_outro_dispositivo": "id já usado por outro dispositivo",
    "conteudo_diferente": "mesmo id com outro conteúdo",
    "id_evento_invalido": "id do evento ilegível",
    "campo_ausente": "falta um campo",
    "campo_invalido": "campo inválido",
    "payload_grande": "payload grande demais",
    "recorte_ausente": "falta o recorte",
    "imagem_nao_jpeg": "a imagem não é JPEG",
    "imagem_cortada": "JPEG cortado",
    "imagem_grande": "imagem grande demais",
    "imagem_pixels_demais": "pixels demais",
}

SEM_RECORTE = {
    "caixa_fora_do_quadro": "a caixa estava fora do quadro",
    "caixa_invalida": "a caixa era inválida",
    "quadro_ilegivel": "o quadro não se leu",
    "recorte_grande": "o recorte passava do tamanho",
    "sem_caixa": "não havia caixa",
    "sem_quadro": "não havia quadro",
}


def nomear(codigo: str) -> str:
    """O código como se lê; um que não é nosso aparece sem os sublinhados, inerte."""
    return RECUSAS.get(codigo) or SEM_RECORTE.get(codigo) or neutralizar(codigo.replace("_", " "))
