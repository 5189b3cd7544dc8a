"""No fim da corrida: o que se ouviu contra o que o servidor contou e gravou, e o que ficou no registro."""

import re
from collections import Counter
from collections.abc import Iterator

from tests.caos.servidor import ServidorLocal, esperar
from tests.fuzz.visitante import Contagens, Visitante

PRAZO_PARA_ESVAZIAR_S = 90
RESPOSTAS = re.compile(
    r'^lastro_respostas_total\{codigo="[^"]*",fluxo="(\w+)",status="(\d+)"\} ([0-9.e+]+)$', re.M
)
NO_REGISTRO = re.compile(r"Traceback|\b(ERROR|CRITICAL)\b|\bFATAL\b|\bPANIC\b")

SQL_PENDENTES = """
    SELECT (SELECT count(*) FROM ingestao_lote WHERE estacionado_em IS NULL)
        + (SELECT count(*) FROM dlr_recepcaopendente WHERE estacionado_em IS NULL)
"""
SQL_VENENO = """
    SELECT 'lote', id, falha FROM ingestao_lote WHERE tentativas > 0
    UNION ALL SELECT 'recepção', id, falha FROM dlr_recepcaopendente WHERE tentativas > 0
"""
DE_EVENTO = [
    "evento_invalido", "evento_id_invalido", "tipo_invalido", "lote_cheio", "numero_fora_do_intervalo",
    "payload_grande", "payload_profundo",
]  # fmt: skip
SQL_CONTAGENS = """
    SELECT 'recusas de eventos', motivo, sum(quantidade_requisicoes)::bigint FROM ingestao_recusa GROUP BY motivo
    UNION ALL SELECT 'eventos recusados em 202', '', coalesce(sum(quantidade_eventos), 0)::bigint FROM ingestao_recusa
        WHERE motivo = ANY(%(de_evento)s)
    UNION ALL SELECT 'recusas de capturas', motivo, sum(quantidade)::bigint FROM ingestao_recusadecaptura
        GROUP BY motivo
    UNION ALL SELECT 'recibos guardados', '', count(*) FROM dlr_recepcao
    UNION ALL SELECT 'recusas de recibos', motivo, sum(quantidade)::bigint FROM dlr_recusadecallback GROUP BY motivo
"""


class Contas:
    """Uma foto das contagens do servidor no começo; no fim, a diferença tem de ser o que se ouviu desde ela."""

    def __init__(self, servidor: ServidorLocal, visitante: Visitante) -> None:
        self._servidor, self._visitante = servidor, visitante
        visitante.esquecer()
        self._antes = self._contar()
        self._veneno_antes = set(servidor.consultar(SQL_VENENO))
        self._registro_em = servidor.saida.stat().st_size

    def conferir(self) -> Iterator[str]:
        """As divergências, uma frase cada; nenhuma se tudo fecha."""
        if not esperar(lambda: self._servidor.consultar(SQL_PENDENTES) == [(0,)], PRAZO_PARA_ESVAZIAR_S, 0.2):
            yield "a caixa não esvaziou"
        yield from (
            f"item que o worker não aplicou: {linha}" for linha in self._servidor.consultar(SQL_VENENO)
        )
        ouvidas = Counter(self._visitante.ouvidas)
        contadas = self._contar() - self._antes
        for conta in sorted({o_que for o_que, _ in (*contadas, *ouvidas)}):
            servidor = {motivo: n for (o_que, motivo), n in contadas.items() if o_que == conta}
            daqui = {motivo: n for (o_que, motivo), n in ouvidas.items() if o_que == conta}
            if sum(servidor.values()) != sum(
                daqui.values()
            ):  # um HEAD não diz o motivo: conferem-se as somas
                nomes = sorted(n for n in servidor | daqui if servidor.get(n, 0) != daqui.get(n, 0))
                diferencas = {n: (servidor.get(n, 0), daqui.get(n, 0)) for n in nomes}
                yield f"{conta} (o servidor conta, ouviram-se): {diferencas}"

    def conferir_registro(self) -> Iterator[str]:
        """As linhas que não deviam estar no registro de nenhum processo."""
        with self._servidor.saida.open("rb") as saida:
            saida.seek(self._registro_em)
            for linha in saida.read().decode("utf-8", "replace").splitlines():
                if NO_REGISTRO.search(linha):
                    yield f"no registro: {linha[:500]}"

    def _contar(self) -> Contagens:
        with self._servidor.conectar() as conexao:
            linhas = conexao.execute(SQL_CONTAGENS, {"de_evento": DE_EVENTO}).fetchall()
        contagens: Contagens = Counter({(o_que, motivo): int(quantas) for o_que, motivo, quantas in linhas})
        metricas = self._visitante.pedir("GET", "/metricas").corpo.decode()
        for fluxo, status, numero in RESPOSTAS.findall(metricas):
            contagens["respostas da porta", f"{fluxo} {status}"] += int(float(numero))
        return contagens
