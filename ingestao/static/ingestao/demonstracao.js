// A página de demonstração: o que cada botão provoca e a lista do que o servidor gravou.
"use strict";

// Carregado antes do coletor: este é o fetch sem ele, e perguntar pelos gravados não vira evento.
const perguntar = window.fetch.bind(window);
const INTERVALO_MS = 1000;
const NOMES = {
  ERRO_JS: "Erro", PROMISE_REJEITADA: "Promise rejeitada", CONSOLE: "Console", REQUISICAO: "Requisição", CLIQUE: "Clique",
  PAGINA: "Página", DESEMPENHO: "Desempenho", IDENTIFICACAO: "Identificação", PERSONALIZADO: "Evento da página",
};
const CASAS = { CLS: 3 };

const provocar = {
  erro: () => carrinho.total(),
  promise: () => void Promise.reject(new Error("o pagamento não respondeu")),
  consoleErro: () => console.error("falha ao salvar o pedido", { pedido: 1042 }),
  consoleAviso: () => console.warn("estoque baixo", ["camiseta", 2]),
  fetchBom: () => fetch("/saude?cpf=nunca-sai"),
  fetchRuim: () => fetch("/nao-existe"),
  xhr: () => {
    const pedido = new XMLHttpRequest();
    pedido.open("GET", "/saude");
    pedido.send();
  },
  navegar: () => history.pushState({}, "", "?passo=" + Date.now() + "#/passo/" + (history.length % 9)),
  identificar: () => lastro.identificar("ana"),
  personalizado: () => lastro.evento("compra", { total: 99.9, itens: ["camiseta"] }),
  recarregar: () => location.reload(),
  enxurrada: async () => {
    for (let i = 0; i < 100; i++) {
      for (let j = 0; j < 100; j++) window.dispatchEvent(new ErrorEvent("error", { message: "erro em laço", error: new Error("erro em laço") }));
      await new Promise((pronto) => setTimeout(pronto));
    }
  },
};
for (const botao of document.querySelectorAll("[data-faz]")) botao.addEventListener("click", () => provocar[botao.dataset.faz]());

const resumir = (e) =>
  ({
    REQUISICAO: () => `${e.metodo} ${e.url} → ${e.status || "sem resposta"} em ${Math.round(e.duracao_ms)} ms`,
    CLIQUE: () => (e.texto ? `“${e.texto}”` : "(sem texto)") + " · " + e.seletor,
    PAGINA: () => e.url,
    DESEMPENHO: () => `${e.metrica} ${e.valor.toLocaleString("pt-BR", { maximumFractionDigits: CASAS[e.metrica] || 0 })}${e.metrica === "CLS" ? "" : " ms"}`,
    IDENTIFICACAO: () => e.usuario_id,
    PERSONALIZADO: () => [e.nome, e.payload && JSON.stringify(e.payload)].filter(Boolean).join(" "),
  })[e.tipo]?.() ?? e.mensagem ?? "";

const criar = (marca, classe, texto = "") => Object.assign(document.createElement(marca), { className: classe, textContent: texto });
const montar = (evento) => {
  const item = criar("li", "novo");
  const detalhes = criar("details", "");
  const linha = criar("summary", "");
  const grave = ["ERRO_JS", "PROMISE_REJEITADA"].includes(evento.tipo) || evento.nivel === "error";
  linha.append(
    criar("span", grave ? "tipo erro" : evento.nivel ? "tipo aviso" : "tipo", NOMES[evento.tipo]),
    criar("span", "resumo", resumir(evento)),
    criar("time", "hora", new Date(evento.ocorrido_em).toLocaleTimeString("pt-BR")),
  );
  detalhes.append(linha, criar("pre", "", JSON.stringify(evento, null, 2)));
  item.append(detalhes);
  return item;
};

const por = (id, texto) => (document.getElementById(id).textContent = texto);
const sinalizar = (classe, texto) => {
  const sinal = document.getElementById("sinal");
  if (sinal.textContent !== texto) sinal.textContent = texto;
  sinal.className = "sinal " + classe;
};

const itens = new Map();
const mostrar = ({ sessao, eventos }) => {
  const lista = document.getElementById("eventos");
  // Só o que é novo entra: um item aberto continua aberto.
  for (const evento of [...eventos].reverse()) {
    if (itens.has(evento.id)) continue;
    const item = montar(evento);
    itens.set(evento.id, item);
    lista.prepend(item);
  }
  const ficam = new Set(eventos.map((evento) => evento.id));
  for (const [id, item] of itens) {
    if (ficam.has(id)) continue;
    item.remove();
    itens.delete(id);
  }
  document.getElementById("vazio").hidden = eventos.length > 0;
  por("qtd-eventos", sessao ? sessao.quantidade_eventos.toLocaleString("pt-BR") : "–");
  por("qtd-erros", sessao ? sessao.quantidade_erros.toLocaleString("pt-BR") : "–");
  por("pessoa", sessao?.usuario_id || "anônima");
  por("carregamento", sessao?.tempo_carregamento_ms != null ? Math.round(sessao.tempo_carregamento_ms) + " ms" : "–");
};

const sessaoExterna = () => {
  try {
    return JSON.parse(sessionStorage.getItem("lastro.sessao")).sessao_externa;
  } catch {
    return ""; // o coletor ainda não começou, ou o armazenamento está bloqueado
  }
};
const atualizar = async () => {
  try {
    const resposta = await perguntar("/demonstracao/eventos?sessao=" + sessaoExterna());
    const lido = await resposta.json();
    if (resposta.ok) {
      mostrar(lido);
      sinalizar("bom", "ao vivo");
    } else sinalizar("ruim", lido.detail);
  } catch {
    sinalizar("ruim", "o servidor não respondeu; tentando de novo");
  }
  setTimeout(atualizar, INTERVALO_MS);
};
atualizar();
