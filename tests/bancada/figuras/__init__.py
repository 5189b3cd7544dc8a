"""O registro das figuras. Uma figura nova é um módulo aqui e uma linha em `FIGURAS`."""

from tests.bancada.contexto import Figura
from tests.bancada.figuras import aceite, admin, capturas, coletor, crescimento, eventos, recibos, retencao

# Na ordem em que rodam: as que enchem o banco ficam por último.
FIGURAS = (
    Figura(
        nome="eventos_1",
        explicacao="eventos/s do primeiro POST à última linha visível com contadores, um por lote ÷ COPY",
        medir=eventos.medidor(por_lote=1, eventos=5_000),
    ),
    Figura(
        nome="eventos_50",
        explicacao="o mesmo, em lotes de 50",
        medir=eventos.medidor(por_lote=50, eventos=60_000),
    ),
    Figura(
        nome="eventos_500",
        explicacao="o mesmo, em lotes de 500",
        medir=eventos.medidor(por_lote=500, eventos=100_000),
    ),
    Figura(
        nome="aceite_p99",
        explicacao="p99 (ms) do aceite de um lote ÷ p99 de INSERT e COMMIT dos mesmos bytes",
        medir=aceite.medir,
    ),
    Figura(
        nome="capturas",
        explicacao="ACKs duráveis/s (lotes de 20, recortes de 20 KB) ÷ linhas/s do pgbench com os mesmos bytes",
        medir=capturas.medir,
    ),
    Figura(
        nome="dlr",
        explicacao="callbacks/s do primeiro POST à última projeção, um recibo por chamada ÷ INSERT e COMMIT",
        medir=recibos.medidor(por_chamada=1, recibos=6_000),
    ),
    Figura(
        nome="dlr_lote",
        explicacao="recibos/s até a última projeção, em vetores de 100 ÷ INSERT e COMMIT de cada vetor",
        medir=recibos.medidor(por_chamada=100, recibos=30_000),
    ),
    Figura(
        nome="coletor",
        explicacao="ms por evento na página do cliente, o tipo mais caro, com o coletor ÷ sem ele",
        medir=coletor.medir,
    ),
    Figura(
        nome="crescimento_1m",
        explicacao="eventos/s em lotes de 50 sobre 1 milhão de eventos ÷ o mesmo sobre tabelas vazias",
        medir=crescimento.medidor(guardados=1_000_000),
    ),
    Figura(
        nome="crescimento_10m",
        explicacao="o mesmo, sobre 10 milhões",
        medir=crescimento.medidor(guardados=10_000_000),
    ),
    Figura(
        nome="retencao",
        explicacao="p95 (ms) do aceite enquanto a retenção apaga 1 milhão ÷ p95 sem ela",
        medir=retencao.medir,
    ),
    Figura(
        nome="admin_10m",
        explicacao="ms das listas do painel (mediana) com 10 milhões de eventos ÷ as mesmas sem eles",
        medir=admin.medir,
    ),
)
