"""O token: mostrado uma vez, guardado em resumo, dois válidos durante a troca, e o desligamento."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ingestao.capturas.consultas import contar_situacao, listar_silenciosos
from ingestao.capturas.dispositivos import criar_dispositivo, revogar, trocar_token
from ingestao.models import Dispositivo
from tests.ingestao.capturas.aparelho import Aparelho, evento

pytestmark = pytest.mark.django_db


def status(aparelho: Aparelho, token: str) -> tuple[int, str | None]:
    resposta = Aparelho(aparelho.id, token).postar([evento()])
    return resposta.status_code, resposta.json().get("codigo")


def test_criar_dispositivo_imprime_uma_linha_e_guarda_so_o_resumo(db: None) -> None:
    saida = StringIO()
    call_command("criar_dispositivo", "--nome", "Portaria 2", stdout=saida)
    (linha,) = saida.getvalue().splitlines()
    impresso: dict[str, Any] = json.loads(linha)
    dispositivo = Dispositivo.objects.get()
    assert set(impresso) == {"id", "token"}
    assert (impresso["id"], dispositivo.nome) == (str(dispositivo.pk), "Portaria 2")
    assert impresso["token"] not in str(vars(dispositivo))
    assert Aparelho(dispositivo.pk, impresso["token"]).postar([evento()]).status_code == 200


def test_nome_vazio_diz_o_que_ha(db: None) -> None:
    with pytest.raises(CommandError, match="nome"):
        call_command("criar_dispositivo", "--nome", " ")
    assert not Dispositivo.objects.exists()


def test_na_troca_os_dois_tokens_valem_e_depois_so_o_novo(aparelho: Aparelho) -> None:
    dispositivo = Dispositivo.objects.get()
    novo = trocar_token(dispositivo)
    assert status(aparelho, aparelho.token) == (200, None)
    assert status(aparelho, novo) == (200, None)
    Dispositivo.objects.update(token_anterior_ate=timezone.now() - timedelta(seconds=1))
    assert status(aparelho, aparelho.token) == (401, "token_desconhecido")
    assert status(aparelho, novo) == (200, None)


def test_desligado_leva_403_na_hora_e_volta_so_com_token_novo(aparelho: Aparelho) -> None:
    dispositivo = Dispositivo.objects.get()
    velho, atual = aparelho.token, trocar_token(dispositivo)
    revogar(dispositivo)
    assert status(aparelho, atual) == (403, "dispositivo_revogado")
    assert status(aparelho, velho) == (401, "token_desconhecido"), "o anterior morre junto"
    novo = trocar_token(dispositivo)
    assert status(aparelho, novo) == (200, None)
    assert status(aparelho, atual) == (401, "token_desconhecido"), "desligado não tem carência"


def test_excluido_tambem_leva_403(aparelho: Aparelho) -> None:
    Dispositivo.objects.update(deletado=True)
    assert status(aparelho, aparelho.token) == (403, "dispositivo_revogado")


def test_calado_aparece_como_silencioso(aparelho: Aparelho) -> None:
    agora = timezone.now()
    aparelho.postar([])
    falante = Dispositivo.objects.get()
    Dispositivo.objects.update(ultimo_contato_em=agora)
    calado, _ = criar_dispositivo("Calado")
    Dispositivo.objects.filter(pk=calado.pk).update(ultimo_contato_em=agora - timedelta(seconds=901))
    nunca_falou, _ = criar_dispositivo("Nunca falou")
    Dispositivo.objects.filter(pk=nunca_falou.pk).update(criado_em=agora - timedelta(hours=2))
    paciente, _ = criar_dispositivo("Paciente")
    Dispositivo.objects.filter(pk=paciente.pk).update(
        ultimo_contato_em=agora - timedelta(hours=1), silencioso_apos_s=7_200
    )
    desligado, _ = criar_dispositivo("Desligado")
    Dispositivo.objects.filter(pk=desligado.pk).update(
        ultimo_contato_em=agora - timedelta(days=9), revogado_em=agora
    )

    silenciosos = list(listar_silenciosos(agora))
    assert [d.nome for d in silenciosos] == ["Nunca falou", "Calado"]
    assert [d.silencioso(agora) for d in silenciosos] == [True, True]
    falante.refresh_from_db()
    assert not falante.silencioso(agora)
    assert contar_situacao(agora) == {"dispositivos": 4, "silenciosos": 2, "pedidos_abertos": 0}
