"""O trecho pronto para mandar o primeiro evento de um aplicativo."""

import json
from dataclasses import dataclass

from ingestao.models import Aplicativo


@dataclass(frozen=True, slots=True, kw_only=True)
class Instalacao:
    """O mesmo lote, pelo terminal e pela página."""

    curl: str
    fetch: str


def montar_instalacao(aplicativo: Aplicativo, endereco: str) -> Instalacao:
    """Os exemplos com a chave do aplicativo; `endereco` é a URL inteira da ingestão."""
    chave = aplicativo.chave
    evento = '{ evento_id: crypto.randomUUID(), tipo: "PERSONALIZADO", nome: "instalacao" }'
    lote = {
        "chave": chave,
        "sessao": {"sessao_externa": "teste-1"},
        "eventos": [{"evento_id": "teste-1", "tipo": "PERSONALIZADO", "nome": "instalacao"}],
    }
    # A chave e os domínios só têm letras, números e sinais inertes: cabem entre aspas simples do terminal.
    curl = (
        f"curl -i '{endereco}' \\\n"
        f"  -H 'Origin: {_origem_de_exemplo(aplicativo.dominios)}' \\\n"
        "  -H 'Content-Type: application/json' \\\n"
        f"  -d '{json.dumps(lote)}'"
    )
    fetch = (
        f"fetch({json.dumps(endereco)}, {{\n"
        '  method: "POST",\n'
        "  keepalive: true, // não se perde quando a página fecha\n"
        "  body: JSON.stringify({\n"
        f"    chave: {json.dumps(chave)},\n"
        "    sessao: { sessao_externa: sessionStorage.sid ??= crypto.randomUUID() },\n"
        f"    eventos: [{evento}]\n"
        "  })\n"
        "});"
    )
    return Instalacao(curl=curl, fetch=fetch)


def _origem_de_exemplo(dominios: list[str]) -> str:
    dominio = dominios[0].replace("*.", "www.") if dominios else "exemplo.com.br"
    return f"https://{dominio}"
