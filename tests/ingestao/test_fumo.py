import json
import uuid

import pytest

from ingestao.eventos.processamento import CAIXA_DE_LOTES, uuid5_texto
from ingestao.models import *


@pytest.mark.django_db
def test_fumo(client):
    a = Aplicativo.objects.create(nome="x", dominios=["exemplo.com.br"])
    corpo = {
        "chave": a.chave,
        "sessao": {"sessao_externa": "s"},
        "eventos": [
            {"evento_id": "1", "tipo": "ERRO_JS", "mensagem": "oi\x00", "payload": {"a": 1}},
            {"evento_id": "1", "tipo": "CLIQUE"},
            {"tipo": 1},
        ],
    }
    r = client.post(
        "/evento/ingestao",
        json.dumps(corpo),
        content_type="text/plain",
        headers={"origin": "https://exemplo.com.br"},
    )
    assert r.status_code == 202, r.content
    print(r.content)
    b = CAIXA_DE_LOTES.esvaziar()
    print(b)
    e = Evento.objects.get()
    print(
        e.__dict__,
        Sessao.objects.get().__dict__,
        Erro.objects.get().__dict__,
        Uso.objects.get().__dict__,
        Recusa.objects.get().__dict__,
    )
    assert str(e.id) == uuid5_texto(f"{a.id}:1") == str(uuid.uuid5(uuid.NAMESPACE_OID, f"{a.id}:1"))
    for c in ([], {}, "x"):
        r = client.post(
            "/evento/ingestao",
            json.dumps(c),
            content_type="text/plain",
            headers={"origin": "https://exemplo.com.br"},
        )
        print(r.status_code, r.content, r.headers)
