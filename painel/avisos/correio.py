"""O e-mail de um aviso."""

from smtplib import SMTPException

from django.core.mail import EmailMessage

from painel.avisos.webhook import Resultado, limpar

ASSUNTO_CARACTERES = 200


def mandar(destinatarios: list[str], *, assunto: str, texto: str, id_da_entrega: str) -> Resultado:
    """Manda um e-mail e devolve o resultado. O `Message-ID` é o da entrega: o reenvio se reconhece."""
    cabecalhos = {"Message-ID": f"<{id_da_entrega}@lastro>", "X-Lastro-Entrega": id_da_entrega}
    mensagem = EmailMessage(
        limpar(assunto.encode())[:ASSUNTO_CARACTERES], texto, to=destinatarios, headers=cabecalhos
    )
    try:
        mensagem.send()
    except (SMTPException, OSError) as erro:
        return Resultado(sucesso=False, erro=limpar(f"{type(erro).__name__}: {erro}".encode()))
    return Resultado(sucesso=True)
