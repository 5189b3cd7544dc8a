"""Os motivos de recusa por extenso. O código continua nas listas: é o que o remetente recebeu."""

from painel.admin.dlr.recusa import MOTIVOS as DOS_CALLBACKS
from painel.admin.texto_alheio import neutralizar

NOMES = {
    "armazenamento_lento": "banco lento",
    "campo_invalido": "campo inválido",
    "chave_ausente": "sem chave",
    "chave_desconhecida": "chave desconhecida",
    "codificacao_desconhecida": "codificação desconhecida",
    "corpo_grande": "corpo grande demais",
    "corpo_incompleto": "corpo cortado no caminho",
    "corpo_inflado_grande": "corpo inflado grande demais",
    "corpo_invalido": "corpo ilegível",
    "evento_id_invalido": "id de evento inválido",
    "evento_invalido": "evento inválido",
    "eventos_ausentes": "sem lista de eventos",
    "franquia_estourada": "franquia estourada",
    "gzip_invalido": "gzip inválido",
    "json_invalido": "JSON inválido",
    "limite_por_minuto": "limite por minuto",
    "lote_cheio": "além de 500 no lote",
    "lote_invalido": "lote inválido",
    "metodo_nao_permitido": "método não permitido",
    "numero_fora_do_intervalo": "número fora do intervalo",
    "origem_nao_autorizada": "origem não autorizada",
    "payload_grande": "payload grande demais",
    "payload_profundo": "payload profundo demais",
    "porta_cheia": "porta cheia",
    "sessao_invalida": "sessão inválida",
    "tipo_invalido": "tipo de evento inválido",
}


def nomear_motivo(motivo: str) -> str:
    """O motivo como se lê; um código novo aparece como é."""
    return NOMES.get(motivo) or DOS_CALLBACKS.get(motivo) or neutralizar(motivo.replace("_", " "))
