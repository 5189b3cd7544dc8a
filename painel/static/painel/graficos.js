// A dica dos gráficos: a coluna sob o ponteiro diz os seus números. Sem isto, a tabela os diz.
(() => {
    "use strict";
    const dica = document.createElement("div");
    dica.className = "lastro-dica";
    dica.hidden = true;
    dica.setAttribute("aria-hidden", "true"); // quem ouve a página tem a descrição e a tabela

    function mostrar(evento) {
        const coluna = evento.target instanceof Element && evento.target.closest("[data-dica]");
        if (!coluna) {
            dica.hidden = true;
            return;
        }
        if (!dica.isConnected) document.body.append(dica);
        dica.textContent = coluna.dataset.dica;
        dica.hidden = false;
        const alvo = coluna.getBoundingClientRect();
        const sobra = document.documentElement.clientWidth - dica.offsetWidth - 8;
        const meio = alvo.left + alvo.width / 2 - dica.offsetWidth / 2;
        dica.style.left = `${Math.max(8, Math.min(meio, sobra))}px`;
        dica.style.top = `${Math.max(8, alvo.top - dica.offsetHeight - 8)}px`;
    }
    document.addEventListener("pointerover", mostrar, { passive: true });
    document.addEventListener("pointerdown", mostrar, { passive: true });
    document.addEventListener("scroll", () => { dica.hidden = true; }, { passive: true, capture: true });
})();
