// A página inicial ao vivo: um pedido a cada intervalo traz os blocos prontos, e só o que mudou é trocado.
(() => {
    "use strict";
    const pagina = document.querySelector("[data-retrato]");
    if (!pagina) return;
    const vivo = pagina.querySelector("[data-vivo]");
    const hora = pagina.querySelector("[data-hora]");
    const botao = pagina.querySelector("[data-pausa]");
    const intervalo = Number(pagina.dataset.intervalo) * 1000;
    const PRAZO_MS = 10000;
    let pausado = false;
    let acabou = false;
    let vez = 0;

    // Iguala uma árvore à outra mexendo só no que difere: quem tem o foco, a rolagem ou um <details> aberto continua.
    function igualar(velho, novo) {
        if (velho.nodeType !== novo.nodeType || velho.nodeName !== novo.nodeName) {
            velho.replaceWith(novo.cloneNode(true));
            return;
        }
        if (velho.nodeType !== Node.ELEMENT_NODE) {
            if (velho.nodeValue !== novo.nodeValue) velho.nodeValue = novo.nodeValue;
            return;
        }
        for (const { name, value } of [...novo.attributes]) {
            if (!(name === "open" && velho.nodeName === "DETAILS") && velho.getAttribute(name) !== value) velho.setAttribute(name, value);
        }
        for (const { name } of [...velho.attributes]) {
            if (!novo.hasAttribute(name) && !(name === "open" && velho.nodeName === "DETAILS")) velho.removeAttribute(name);
        }
        igualarFilhos(velho, novo);
    }

    function igualarFilhos(velho, novo) {
        const antes = [...velho.childNodes];
        const depois = [...novo.childNodes];
        depois.forEach((filho, i) => {
            if (i < antes.length) igualar(antes[i], filho);
            else velho.append(filho.cloneNode(true));
        });
        antes.slice(depois.length).forEach((filho) => filho.remove());
    }

    const ultimos = {};
    function mostrar(retrato) {
        for (const bloco of pagina.querySelectorAll("[data-bloco]")) {
            const html = retrato.blocos[bloco.dataset.bloco] ?? "";
            if (ultimos[bloco.dataset.bloco] === html) continue;
            ultimos[bloco.dataset.bloco] = html;
            const folha = document.createElement("template");
            folha.innerHTML = html;
            igualarFilhos(bloco, folha.content);
        }
        hora.textContent = retrato.gerado_em;
        dizer("vivo");
    }

    function dizer(situacao) {
        pagina.dataset.situacao = situacao;
        const textos = { vivo: "Ao vivo · ", pausado: "Pausado às ", calado: "Sem resposta desde as ", fim: "A sessão terminou às " };
        if (vivo.firstChild.nodeValue !== textos[situacao]) vivo.firstChild.nodeValue = textos[situacao];
    }

    async function atualizar() {
        const minha = ++vez;
        try {
            const resposta = await fetch(pagina.dataset.retrato, {
                headers: { Accept: "application/json" },
                signal: AbortSignal.timeout(PRAZO_MS),
            });
            if (resposta.status === 403) {
                acabou = true;
                dizer("fim");
                return;
            }
            if (!resposta.ok) throw new Error(String(resposta.status));
            const retrato = await resposta.json();
            if (minha === vez && !parado()) mostrar(retrato);
        } catch {
            if (!parado()) dizer("calado"); // o próximo intervalo tenta de novo
        }
    }

    const parado = () => pausado || acabou || document.hidden;

    // Um pedido por vez: o intervalo só recomeça quando a resposta chega.
    let relogio = null;
    function agendar(espera) {
        clearTimeout(relogio);
        if (!parado()) relogio = setTimeout(async () => { await atualizar(); agendar(intervalo); }, espera);
    }

    botao.hidden = false;
    botao.addEventListener("click", () => {
        pausado = !pausado;
        botao.textContent = pausado ? "Continuar" : "Pausar";
        if (pausado) dizer("pausado");
        agendar(0);
    });
    document.addEventListener("visibilitychange", () => agendar(0));
    dizer("vivo");
    agendar(intervalo);
})();
