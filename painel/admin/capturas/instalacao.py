"""O que se copia para o aparelho junto com o token."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Trecho:
    """Um pedaço para copiar, com o nome dele na página."""

    nome: str
    titulo: str
    texto: str


def montar_trechos(url: str, token: str) -> list[Trecho]:
    """Os arquivos do cliente de capturas, como partir, e uma chamada que prova o token. `url` sem barra final."""
    arquivos = (
        "umask 077\n"
        "cat > /etc/lastro-captura.token <<'FIM'\n"
        f"{token}\n"
        "FIM\n"
        "cat > /etc/lastro-captura.ini <<'FIM'\n"
        "[captura]\n"
        f"url = {url}\n"
        "token_arquivo = /etc/lastro-captura.token\n"
        "pasta = /var/lib/lastro-captura\n"
        "FIM"
    )
    prova = (
        f"curl -i '{url}/captura/pulso' \\\n"
        f"  -H 'Authorization: Bearer {token}' \\\n"
        "  -H 'Content-Type: application/json' -d '{}'"
    )
    return [
        Trecho(nome="arquivos", titulo="No aparelho: o token e a configuração", texto=arquivos),
        Trecho(
            nome="partida",
            titulo="Enviar enquanto ele estiver ligado",
            texto="lastro-captura servir --config /etc/lastro-captura.ini",
        ),
        Trecho(nome="prova", titulo="Ou provar o token pelo terminal (responde 200)", texto=prova),
    ]
