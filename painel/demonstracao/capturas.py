"""Os aparelhos mandam: o que viram, os reenvios de cada jeito, o que relatam, e o que é recusado."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import orjson
from django.utils import timezone
from urllib3.filepost import encode_multipart_formdata

from ingestao.capturas.autenticacao import gerar_token
from ingestao.capturas.dispositivos import revogar
from ingestao.models import Dispositivo
from painel.demonstracao import tempo
from painel.demonstracao.aparelhos import (
    APARELHOS,
    CALADO_DESDE,
    SEM_HORA_CERTA,
    Aparelho,
    Jeito,
    Visto,
    descrever_evento,
    juntar_em_contatos,
    ver_a_semana,
)
from painel.demonstracao.cadastro import Caderno, garantir_dispositivo
from painel.demonstracao.cenas import Cena
from painel.demonstracao.chamada import Cliente, Resposta
from painel.demonstracao.semente import DIAS, Tamanho
from painel.demonstracao.tempo import IDADE_DO_CADASTRO

ROTA, ROTA_DO_PULSO = "/captura/ingestao", "/captura/pulso"
VERSAO = "lastro-cliente 1.3.0"


@dataclass(slots=True, kw_only=True)
class Ligado:
    """Um aparelho falando com o servidor: o token, e as latências que ainda não contou."""

    cliente: Cliente
    caderno: Caderno
    aparelho: Aparelho
    dispositivo: Dispositivo
    token: str
    agora: datetime
    latencias: dict[UUID, int] = field(default_factory=dict)

    def cabecalhos(self) -> dict[str, str]:
        """Quem está falando."""
        return {"Authorization": f"Bearer {self.token}"}

    def mandar(
        self,
        eventos: Sequence[Mapping[str, Any]],
        recortes: Mapping[str, bytes],
        quando: datetime,
        gravadas: Mapping[UUID, datetime] | None = None,
        **mais: Any,
    ) -> Any:
        """Um lote; depois, o servidor passa a tê-lo recebido em `quando`. Devolve a resposta lida."""
        comecou_em = timezone.now()
        latencias = [{"id_evento": str(id_), "ms": ms} for id_, ms in self.latencias.items()]
        self.latencias.clear()
        lote = {
            "enviado_em": quando.isoformat(timespec="milliseconds"),
            "boot_id": str(self.caderno.semente.uuid(f"{self.aparelho.apelido} ligou")),
            "latencias": latencias,
            "eventos": eventos,
            **mais,
        }
        partes = [("lote", ("lote.json", orjson.dumps(lote), "application/json"))]
        partes += [(f"recorte-{id_}", ("recorte.jpg", jpeg, "image/jpeg")) for id_, jpeg in recortes.items()]
        corpo, tipo = encode_multipart_formdata(partes)
        resposta = self.cliente.chamar("POST", ROTA, corpo, {"Content-Type": tipo, **self.cabecalhos()})
        tempo.recuar_contato(self.dispositivo.pk, comecou_em, quando, gravadas or {})
        return resposta.json()

    def pulsar(self, quando: datetime, **estado: Any) -> Resposta:
        """Um pulso, com as latências que faltava contar."""
        comecou_em = timezone.now()
        latencias = [{"id_evento": str(id_), "ms": ms} for id_, ms in self.latencias.items()]
        self.latencias.clear()
        corpo = {"versao": VERSAO, "latencias": latencias, **estado}
        resposta = self.cliente.mandar_json(ROTA_DO_PULSO, corpo, self.cabecalhos())
        tempo.recuar_contato(self.dispositivo.pk, comecou_em, quando, {})
        return resposta

    def evento(self, visto: Visto, cena: Cena, tentativa: int = 1) -> dict[str, Any]:
        """O evento, com a idade que ele tem agora de verdade."""
        idade_ms = round((timezone.now() - visto.capturado_em).total_seconds() * 1000)
        return descrever_evento(visto, cena, idade_ms=idade_ms, tentativa=tentativa)


def mandar_capturas(
    cliente: Cliente, caderno: Caderno, agora: datetime, tamanho: Tamanho, avancar: Callable[[str, int], Any]
) -> None:
    """A etapa dos aparelhos, inteira."""
    comecou_em = timezone.now()
    ligados = [ligar(cliente, caderno, aparelho, agora) for aparelho in APARELHOS]
    semanas = [ver_a_semana(ligado.aparelho, caderno.semente, tamanho, agora) for ligado in ligados]
    avancou = avancar("capturas dos aparelhos", sum(map(len, semanas)))
    for ligado, vistos in zip(ligados, semanas, strict=True):
        for contato in juntar_em_contatos(vistos):
            _contar(ligado, contato)
            for _ in contato:
                avancou()
        if ligado.aparelho.jeito is Jeito.FILA_COM_DEFEITO:
            _atrapalhar_se(ligado, vistos, de_outro=semanas[0][0])
        if ligado.aparelho.jeito is Jeito.LINK_RUIM:
            _estragar(ligado, vistos[-1])
        _despedir(ligado)
    _recusar_chamadas(cliente, caderno, agora, comecou_em)


def ligar(cliente: Cliente, caderno: Caderno, aparelho: Aparelho, agora: datetime) -> Ligado:
    """Cadastra o aparelho (três semanas atrás) e o deixa pronto para falar."""
    dispositivo, token = garantir_dispositivo(
        caderno, aparelho.apelido, aparelho.nome, aparelho.silencioso_apos_s
    )
    Dispositivo.objects.filter(pk=dispositivo.pk).update(criado_em=agora - IDADE_DO_CADASTRO)
    return Ligado(
        cliente=cliente, caderno=caderno, aparelho=aparelho, dispositivo=dispositivo, token=token, agora=agora
    )


def _contar(ligado: Ligado, contato: list[Visto]) -> None:
    """Manda as capturas de uma hora, e de novo as que o aparelho manda mais de uma vez."""
    cenas = {visto: visto.pintar(ligado.caderno.semente) for visto in contato}
    recortes = {str(visto.id_evento): cena.recorte for visto, cena in cenas.items()}
    quando = contato[-1].capturado_em + timedelta(milliseconds=contato[-1].latencia_ms)
    gravadas = {v.id_evento: v.capturado_em + timedelta(milliseconds=v.latencia_ms) for v in contato}
    ligado.mandar([ligado.evento(v, cena) for v, cena in cenas.items()], recortes, quando, gravadas)
    for vez in range(2, max(v.vezes for v in contato) + 1):
        # A tentativa cresce: o ACK se perdeu. Defeito na fila: ele esqueceu que já tinha mandado.
        tentativa = 1 if ligado.aparelho.jeito is Jeito.FILA_COM_DEFEITO else vez
        outra_vez = {v: cena for v, cena in cenas.items() if v.vezes >= vez}
        ligado.mandar(
            [ligado.evento(v, cena, tentativa) for v, cena in outra_vez.items()],
            {str(v.id_evento): cena.recorte for v, cena in outra_vez.items()},
            quando,
        )
    ligado.latencias |= {visto.id_evento: visto.latencia_ms for visto in contato}


def _atrapalhar_se(ligado: Ligado, vistos: list[Visto], de_outro: Visto) -> None:
    """O defeito na fila também troca ids e esquece a hora: conflitos, e capturas sem hora certa."""
    semente = ligado.caderno.semente
    trocado, novo = vistos[3], vistos[-1]
    cena = trocado.pintar(semente)
    mudado = ligado.evento(trocado, cena) | {"payload": {"classe": "sombra", "modelo": "deteccao-2.3"}}
    alheio = ligado.evento(trocado, cena) | {"id_evento": str(de_outro.id_evento)}
    recortes = {str(trocado.id_evento): cena.recorte, str(de_outro.id_evento): cena.recorte}
    ligado.mandar([mudado, alheio], recortes, novo.capturado_em)
    for numero in range(2):
        id_evento = semente.uuid(f"sem hora certa {numero}")
        sem_hora = ligado.evento(novo, novo.pintar(semente)) | {
            "id_evento": str(id_evento),
            "capturado_em": (SEM_HORA_CERTA + timedelta(minutes=numero)).isoformat(),
            "idade_ms": None,
            "seq": numero,
            "sem_recorte": "caixa_invalida",
        }
        quando = novo.capturado_em - timedelta(hours=5 - numero)
        ligado.mandar([sem_hora], {}, quando, {id_evento: quando})


def _estragar(ligado: Ligado, visto: Visto) -> None:
    """O que a rede ruim corta e o que o aparelho monta errado; e o que ele desistiu de mandar."""
    semente = ligado.caderno.semente
    cena = visto.pintar(semente)
    ids = [str(semente.uuid(f"estragado {numero}")) for numero in range(4)]
    cortado, sem_imagem, sem_seq, sem_nada = (ligado.evento(visto, cena) | {"id_evento": id_} for id_ in ids)
    del sem_seq["seq"]
    sem_nada["id_evento"] = "sem id"
    recortes = {ids[0]: cena.recorte[: len(cena.recorte) // 2], ids[2]: cena.recorte}
    quando = visto.capturado_em
    ligado.mandar(
        [cortado, sem_imagem, sem_seq, sem_nada],
        recortes,
        quando,
        descartados={"teto_de_tentativas": 3, "fila_cheia": 1},
        relato_id=str(semente.uuid("descartes de ontem")),
    )


def _despedir(ligado: Ligado) -> None:
    """O último pulso. O calado parou de falar há dois dias; os outros falam até agora."""
    calado = ligado.aparelho.jeito is Jeito.CALADO
    ruim = ligado.aparelho.jeito is Jeito.LINK_RUIM
    quando = ligado.agora - CALADO_DESDE if calado else ligado.agora
    estado: dict[str, Any] = {
        "fila": {"qtd": 7 if ruim else 0, "mais_antigo_s": 412.0 if ruim else 0},
        "disco_livre_bytes": (3 if calado else 21) * 10**9,
        "quarentena": 2 if ruim else 0,
        "quadros": {"qtd": 180, "bytes": 180 * 24_000},
        "relogio_suspeito": ligado.aparelho.jeito is Jeito.FILA_COM_DEFEITO,
    }
    if ruim:
        estado |= {
            "descartados": {"teto_de_tentativas": 2},
            "relato_id": str(ligado.caderno.semente.uuid("descartes de hoje")),
        }
    ligado.pulsar(quando, **estado)
    if calado:
        vistos = {"ultimo_contato_em": quando, "ultimo_pulso_em": quando}
        Dispositivo.objects.filter(pk=ligado.dispositivo.pk).update(**vistos)


def _recusar_chamadas(cliente: Cliente, caderno: Caderno, agora: datetime, comecou_em: datetime) -> None:
    """Um aparelho desligado que insiste, e um token que ninguém conhece."""
    acaso = caderno.semente.sorteio("recusas das capturas")
    desligado, token = garantir_dispositivo(caderno, "guarita-antiga", "Guarita antiga", 900)
    Dispositivo.objects.filter(pk=desligado.pk).update(criado_em=agora - IDADE_DO_CADASTRO)
    revogar(desligado)
    recusas: list[tuple[str, datetime]] = []
    for com_o_token, vezes in ((token, 9), (gerar_token(), 5)):
        for _ in range(vezes):
            resposta = cliente.mandar_json(ROTA_DO_PULSO, {}, {"Authorization": f"Bearer {com_o_token}"})
            quando = agora - timedelta(days=acaso.uniform(0, DIAS - 0.5))
            recusas.append((resposta.json()["codigo"], quando))
    tempo.espalhar_recusas_de_capturas(recusas, comecou_em)
