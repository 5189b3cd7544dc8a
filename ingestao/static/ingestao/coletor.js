// O coletor do Lastro: vê o que acontece na página e entrega ao servidor, sem atrapalhar a página.
//
//   <script defer crossorigin src="https://lastro.exemplo.com.br/coletor.js" data-chave="pk_live_…"></script>
//
// Opções, API e o que é coletado: docs/coletor.md. Regras da casa, em ordem:
//   1. a página nunca quebra nem muda de comportamento: tudo o que é nosso roda protegido;
//   2. não se coleta valor de campo, query string, cookie nem conteúdo de requisição;
//   3. evento capturado é entregue, ou contado num evento `lastro.descartes`.
//
// O que se serve em /coletor.js é o `coletor.min.js`, feito deste por `make coletor` (docs/decisoes/0011).
(() => {
  "use strict";
  const script = document.currentScript || document.querySelector("script[data-chave]");
  const { chave, servidor, console: niveis = "error", sem = "", respeitarDnt, comQuery, semGuardar, pulsoS, intervaloMs } =
    (script && script.dataset) || {};

  // Carregado duas vezes: vale a primeira.
  if (window.lastro && window.lastro.desligar) return;

  // ---- Constantes

  // O navegador dá 64 KB, somados, ao que sobrevive à página (keepalive e beacon).
  const LOTE_BYTES = 6e4;
  // Contrato da ingestão: mais que isto num lote é recusado.
  const LOTE_EVENTOS = 500;
  // A fila mora no localStorage, que é da página: não passa de uma fração dos 5 MB dele.
  const FILA_EVENTOS = 1000;
  const FILA_CARACTERES = 3e5;
  const EVENTO_CARACTERES = 3e4;
  // Por tipo: uma rajada de 100 e depois 5 por segundo. Um erro em laço não afoga a página nem o servidor.
  const RAJADA = 100;
  const POR_SEGUNDO = 5;
  const ESPERA_MAXIMA_MS = 6e4;
  const RETRY_AFTER_MAXIMO_MS = 3e5;
  const PRAZO_DO_ENVIO_MS = 2e4;
  // Uma aba viva regrava a fila muito antes disto; fila parada há mais tempo é de aba morta.
  const ABANDONO_MS = 6e5;
  // O servidor guarda trinta dias: mais velho que isto não se reenvia.
  const VALIDADE_MS = 7 * 864e5;
  const PREFIXO = "lastro.fila." + chave + ".";

  // ---- O que usamos da página, guardado antes que alguém troque

  const { fetch: buscar, Response, Blob, JSON: { stringify }, Date: { now: agora }, CompressionStream, DecompressionStream } = window;
  const { warn } = console;
  const avisar = (texto) => warn.call(console, "lastro: " + texto);
  const seguro = (f) => (...a) => {
    try {
      return f(...a);
    } catch {
      descartar("interno");
    }
  };

  let ligado = false;
  const fim = new AbortController();
  const desfazer = [];
  const ouvir = (alvo, tipo, f, mais) => alvo.addEventListener(tipo, seguro(f), { signal: fim.signal, passive: true, ...mais });

  // Troca uma função da página por um Proxy dela: nome, assinatura, `toString` e erros continuam os mesmos.
  const envolver = (dono, nome, aoChamar) => {
    try {
      const original = dono[nome];
      const nossa = new Proxy(original, {
        apply: (alvo, isto, args) => aoChamar(() => Reflect.apply(alvo, isto, args), args, isto),
      });
      dono[nome] = nossa;
      desfazer.push(() => dono[nome] === nossa && (dono[nome] = original));
    } catch {
      // A página congelou o objeto: fica sem esta captura.
    }
  };

  const parar = () => {
    ligado = false;
    fim.abort();
    clearTimeout(relogio);
    clearInterval(pulso);
    desfazer.forEach((f) => f());
  };

  // ---- Armazenamento, que pode estar bloqueado (e aí até ler a propriedade levanta)

  const armazem = (nome) => {
    try {
      return semGuardar === undefined ? window[nome] : null;
    } catch {
      return null;
    }
  };
  const local = armazem("localStorage");
  const daAba = armazem("sessionStorage");
  const ler = (onde, nome) => {
    try {
      return onde[nome];
    } catch {
      return undefined;
    }
  };
  const guardarEm = (onde, nome, texto) => {
    try {
      if (texto) onde.setItem(nome, texto);
      else onde.removeItem(nome);
      return true;
    } catch {
      return false;
    }
  };

  const nomes = () => {
    try {
      return Object.keys(local);
    } catch {
      return [];
    }
  };

  const sortear = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => (b + 256).toString(16).slice(1)).join("");
  const lembrar = (onde, nome, criar) => {
    const lido = ler(onde, nome);
    if (typeof lido === "string" && /^[\w-]{8,64}$|^\{"sessao_externa":"\w+".*"\}$/.test(lido)) return lido;
    const novo = criar();
    guardarEm(onde, nome, novo);
    return novo;
  };

  // ---- Limpeza: o que sai daqui não leva query string nem passa do tamanho

  const cortar = (texto, n) => (texto.length > n ? texto.slice(0, n).replace(/[\ud800-\udbff]$/, "") : texto);
  // Fica o caminho; num site que navega por `#/rota`, a rota também é caminho.
  const limparUrl = (url) =>
    cortar(/^data:/.test(url) ? "data:" : comQuery !== undefined ? url : url.replace(/\?[^#]*/, "").replace(/#(?!!?\/).*|(#[^?]*)\?.*/, "$1").replace(/(:\/\/)[^/@]*@/, "$1"), 2000);
  const absoluta = (url) => limparUrl(new URL(url, document.baseURI).href);
  // O mesmo para endereços no meio de um texto; `:linha:coluna` de uma pilha ficam.
  const limparTexto = (texto, n) => {
    texto = cortar(texto, n);
    return comQuery !== undefined
      ? texto
      : texto
          .replace(/(\b[a-z]{2,9}:\/\/[^\s?#"'`<>()]*)[?#][^\s"'`<>)]*?((?::\d+){0,2})(?=[\s"'`<>)]|$)/gi, "$1$2")
          .replace(/[?#&][\w%.[\]-]+=[^\s"'`<>)]*/g, "")
          .replace(/(:\/\/)[^\s/@"']*@/g, "$1");
  };

  const campo = (valor, nome) => {
    const lido = ler(valor, nome);
    return typeof lido === "string" ? lido : undefined;
  };
  // Pelo jeito, não por `instanceof`: há erros de outros quadros, e DOMException às vezes não tem pilha.
  const pareceErro = (valor) => campo(valor, "message") !== undefined && (campo(valor, "stack") || campo(valor, "name")) !== undefined;

  // Copia qualquer valor da página para algo que o JSON aceita, sem confiar nele: getters e toJSON que levantam,
  // círculos, funções, nós do DOM. Protótipo nulo, para que nem o `toJSON` de um Array.prototype alterado valha.
  const copiar = (valor, pais = [], cota = { nos: 500 }) => {
    const tipo = typeof valor;
    if (tipo === "string") return cortar(valor, 2000);
    if (valor == null || tipo === "boolean" || (tipo === "number" && Math.abs(valor) < 2 ** 63)) return valor;
    if (tipo === "function") return "[função]";
    if (tipo !== "object") return String(valor);
    if (pais.includes(valor)) return "[circular]";
    if (pais.length > 5) return "[…]";
    try {
      if (pareceErro(valor)) return textoDe(valor);
      if (valor instanceof Date) return String(+valor && valor.toISOString());
      if (valor instanceof Node) return "<" + valor.nodeName.toLowerCase() + ">";
      if (ArrayBuffer.isView(valor)) return "[binário]";
      const lista = Array.isArray(valor);
      const saida = Object.setPrototypeOf(lista ? [] : {}, null);
      const chaves = lista ? Array.from({ length: Math.min(valor.length, 100) }, (_, i) => i) : Object.keys(valor).slice(0, 100);
      for (const nome of chaves) {
        if (--cota.nos < 0) break;
        let filho = "[ilegível]";
        try {
          filho = valor[nome];
        } catch {
          // Um getter que levanta: fica a marca, e os irmãos seguem.
        }
        saida[lista ? nome : cortar(nome, 200)] = copiar(filho, [...pais, valor], cota);
      }
      return saida;
    } catch {
      return "[ilegível]";
    }
  };
  const textoDe = (valor) => {
    if (typeof valor === "string") return valor;
    if (pareceErro(valor)) return (campo(valor, "name") || "Error") + ": " + campo(valor, "message");
    const copia = copiar(valor);
    return typeof copia === "object" && copia ? stringify(copia) : String(copia);
  };
  const camposDoErro = (erro, mensagem) => ({
    nome: erro && typeof erro === "object" ? cortar(campo(erro, "name") || "Object", 120) : undefined,
    mensagem: limparTexto(mensagem, 2000),
    pilha: erro ? limparTexto(campo(erro, "stack") || "", 8000) || undefined : undefined,
  });
  const inteiro = (n) => (n >= 0 && n < 2 ** 31 ? n : undefined);

  // ---- Fila: Map de sessão (JSON) para eventos (JSON). O evento vira texto uma vez, na captura.

  const aba = sortear();
  let numero = 0;
  let caracteres = 0;
  const filas = new Map();
  const descartes = Object.create(null);
  const baldes = Object.create(null);
  const descartar = (motivo) => {
    descartes[motivo] = (descartes[motivo] || 0) + 1;
    agendar(intervalo);
  };

  const caber = (tipo) => {
    const balde = (baldes[tipo] = baldes[tipo] || { resta: RAJADA, em: agora() });
    const em = agora();
    balde.resta = Math.min(RAJADA, balde.resta + (Math.max(0, em - balde.em) * POR_SEGUNDO) / 1e3);
    balde.em = em;
    return balde.resta >= 1 && balde.resta--;
  };

  const por = (sessaoDele, texto) => {
    filas.set(sessaoDele, filas.get(sessaoDele) || []);
    filas.get(sessaoDele).push(texto);
    caracteres += texto.length;
    let quantos = 0;
    for (const eventos of filas.values()) quantos += eventos.length;
    // Cheia, sai o mais antigo da fila mais antiga.
    for (const eventos of filas.values()) {
      while ((quantos > FILA_EVENTOS || caracteres > FILA_CARACTERES) && eventos.length) {
        caracteres -= eventos.shift().length;
        quantos--;
        descartar("fila_cheia");
      }
    }
  };
  const tirar = (sessaoDele, lote) => {
    const eventos = filas.get(sessaoDele) || [];
    const saiu = new Set(lote);
    const ficam = eventos.filter((e) => !saiu.has(e));
    caracteres = 0;
    if (ficam.length || sessaoDele === sessao) filas.set(sessaoDele, ficam);
    else filas.delete(sessaoDele);
    for (const resto of filas.values()) for (const e of resto) caracteres += e.length;
  };

  const enfileirar = (tipo, campos) => {
    const evento = { __proto__: null, evento_id: aba + "-" + ++numero, tipo, ocorrido_em: new Date(agora()).toISOString(), url: limparUrl(location.href), ...campos };
    let texto = stringify(evento);
    if (texto.length > EVENTO_CARACTERES) {
      evento.payload = { __proto__: null, cortado: texto.length };
      texto = stringify(evento);
    }
    por(sessao, texto);
    agendar(caracteres > LOTE_BYTES / 2 ? 0 : intervalo);
  };

  // `montar` só roda se o evento vai ser guardado. `ocupado`: ler um valor da página pode rodar código dela.
  let ocupado = false;
  const registrar = (tipo, montar) => {
    if (!ligado || ocupado || sem.includes(tipo)) return;
    if (!caber(tipo)) return descartar("limite:" + tipo);
    ocupado = true;
    try {
      enfileirar(tipo, montar());
    } catch {
      descartar("interno");
    } finally {
      ocupado = false;
    }
  };

  // No armazenamento: o instante, e depois cada sessão seguida dos seus eventos, um por linha. Instante 0: a
  // página saiu, e a próxima pode adotar já.
  let guardada;
  let saiu = false;
  const guardar = () => {
    const linhas = [saiu ? 0 : agora()];
    for (const [dona, eventos] of filas) if (eventos.length) linhas.push(dona, ...eventos);
    guardada = guardarEm(local, PREFIXO + aba, linhas[1] && linhas.join("\n")) && linhas[1];
  };

  // Filas de abas mortas. A nossa é gravada antes de a delas sair: uma queda no meio repete, não perde.
  const adotar = () => {
    for (const nome of nomes()) {
      if (!nome.startsWith(PREFIXO) || nome === PREFIXO + aba) continue;
      const [instante, ...linhas] = (ler(local, nome) || "").split("\n");
      if (+instante && Math.abs(agora() - instante) < ABANDONO_MS) continue;
      let dona = sessao;
      for (const linha of linhas) {
        if (linha.startsWith('{"s')) dona = linha;
        else if (agora() - Date.parse((/"ocorrido_em":"([^"]+)/.exec(linha) || [])[1]) < VALIDADE_MS) por(dona, linha);
        else descartar("velho");
      }
      guardar();
      guardarEm(local, nome, "");
      agendar(0);
    }
  };
  // A trava dura só a adoção: segurá-la a vida toda tiraria a página do bfcache.
  const adotarUmPorVez = seguro(() => {
    const { locks } = navigator;
    if (!locks) return adotar();
    locks.request(PREFIXO, { ifAvailable: true }, (trava) => trava && seguro(adotar)()).catch(adotar);
  });

  // ---- Entrega

  const intervalo = +intervaloMs || 3e3;
  let relogio = 0;
  let marcado = Infinity;
  // Antes disto não se envia: o que o servidor pediu (Retry-After) e o recuo nosso, que a rede voltando dispensa.
  let liberado = 0;
  let recuo = 0;
  let tentativa = 0;
  let enviando = false;
  let saidas = 0;
  let teto = LOTE_EVENTOS;
  let comprime = !!(CompressionStream && DecompressionStream);
  const emVoo = new Set();

  const agendar = (ms) => {
    const quando = Math.max(agora() + ms, liberado, recuo);
    if (!ligado || quando >= marcado) return;
    marcado = quando;
    clearTimeout(relogio);
    relogio = setTimeout(() => {
      marcado = Infinity;
      enviar().catch(() => descartar("interno"));
    }, quando - agora());
  };

  const proximoLote = () => {
    const motivos = Object.keys(descartes);
    if (motivos.length) {
      const payload = { __proto__: null, ...descartes };
      motivos.forEach((m) => delete descartes[m]);
      enfileirar("PERSONALIZADO", { nome: "lastro.descartes", payload });
    }
    for (const [dona, eventos] of filas) {
      const lote = [];
      let bytes = dona.length + 300;
      for (const evento of eventos) {
        if (emVoo.has(evento)) continue;
        bytes += new Blob([evento]).size + 1;
        if (lote.length && (bytes > LOTE_BYTES || lote.length >= teto)) break;
        lote.push(evento);
      }
      if (lote.length) return { dona, lote };
    }
  };

  // gzip conferido: o que não abre igual vai sem compressão, e não se tenta mais.
  const comprimir = async (corpo) => {
    try {
      const gzip = await new Response(new Blob([corpo]).stream().pipeThrough(new CompressionStream("gzip"))).blob();
      if ((await new Response(gzip.stream().pipeThrough(new DecompressionStream("gzip"))).text()) === corpo) return gzip;
    } catch {
      // Sem suporte de verdade.
    }
    comprime = false;
  };

  // `saindo`: tudo até o fetch é síncrono, porque a página pode não ter outro instante.
  const enviar = async (saindo) => {
    if (!ligado || (enviando && !saindo)) return;
    const proximo = proximoLote();
    guardar();
    if (!proximo) return;
    if (agora() < Math.max(liberado, saindo ? 0 : recuo)) return agendar(0);
    const { dona, lote } = proximo;
    const corpo = '{"chave":' + stringify(chave) + ',"sessao":' + dona + ',"eventos":[' + lote.join() + "]}";
    let gzip;
    if (!saindo) {
      enviando = true;
      const saidasAntes = saidas;
      if (comprime && corpo.length > 1e3) gzip = await comprimir(corpo);
      // A página saiu enquanto comprimia: aquele envio já levou estes eventos.
      if (saidas !== saidasAntes) {
        enviando = false;
        return agendar(intervalo);
      }
    } else if (!("keepalive" in Request.prototype)) return navigator.sendBeacon(destino, corpo);
    lote.forEach((e) => emVoo.add(e));
    const bytes = gzip || new Blob([corpo]);
    const prazo = new AbortController();
    const alarme = setTimeout(() => prazo.abort(), PRAZO_DO_ENVIO_MS);
    let resposta;
    let retorno = {};
    try {
      // Corpo em texto: `text/plain` dispensa o preflight, que não se completa com a página fechando.
      resposta = await buscar.call(window, destino, {
        method: "POST",
        body: gzip || corpo,
        headers: gzip ? { "content-encoding": "gzip" } : {},
        credentials: "omit",
        referrerPolicy: "origin",
        cache: "no-store",
        keepalive: !!saindo || (!tentativa && bytes.size < LOTE_BYTES),
        signal: prazo.signal,
      });
      retorno = await resposta.json();
    } catch {
      // Sem rede, cortada, ou resposta que não é nossa: o mesmo lote, com os mesmos ids, volta depois.
    }
    clearTimeout(alarme);
    lote.forEach((e) => emVoo.delete(e));
    if (!saindo) enviando = false;
    if (ligado) concluir(resposta, retorno || {}, dona, lote, gzip);
  };

  const concluir = (resposta, { codigo, recusas = [] }, dona, lote, gzip) => {
    const status = resposta ? resposta.status : 0;
    if (status === 202) {
      tirar(dona, lote);
      recusas.forEach((r) => descartar("recusado:" + r.codigo));
      tentativa = 0;
      teto = Math.min(LOTE_EVENTOS, teto * 2);
    } else if (status === 415 || (gzip && codigo === "gzip_invalido")) {
      comprime = false;
    } else if (status === 413 || (status === 400 && codigo !== "corpo_incompleto")) {
      // Metade de cada vez, até sobrar só o evento que estraga o lote.
      teto = Math.ceil(lote.length / 2);
      if (lote.length === 1) {
        tirar(dona, lote);
        descartar("recusado:" + (codigo || status));
      }
    } else if (status > 400 && status < 404) {
      avisar(`o servidor recusou (${status} ${codigo || ""}); a coleta parou nesta página.`);
      // Franquia esgotada pode ter virado o mês na próxima página; chave e origem erradas, não.
      if (status !== 402) filas.clear();
      saiu = true;
      guardar();
      return parar();
    } else {
      const pedida = resposta && resposta.headers.get("retry-after");
      const pedida_ms = pedida ? +pedida * 1e3 || Date.parse(pedida) - agora() || 0 : 0;
      // Recuo exponencial com sorteio inteiro; o servidor pedindo mais, vale o dele, com um pouco de sorteio.
      recuo = agora() + Math.random() * Math.min(ESPERA_MAXIMA_MS, 1e3 * 2 ** tentativa++);
      liberado = agora() + Math.min(pedida_ms, RETRY_AFTER_MAXIMO_MS) * (1 + Math.random() / 10);
    }
    guardar();
    if (caracteres) agendar(0);
    else if (Object.keys(descartes)[0]) agendar(intervalo);
  };

  const sair = () => {
    medirAoSair();
    saidas++;
    enviar(true).catch(() => descartar("interno"));
  };

  // ---- Captura

  const TEXTO_ALHEIO = "input,textarea,select,script,style,[hidden],[contenteditable],[data-lastro-ocultar]";
  // O que se lê num botão, sem forçar layout; nunca valor de campo, e-mail ou número longo.
  const textoVisivel = (no, resta = 200) => {
    let texto = "";
    for (const filho of no.childNodes) {
      if (texto.length >= resta) break;
      if (filho.nodeType === 3) texto += filho.data;
      else if (filho.nodeType === 1 && !filho.matches(TEXTO_ALHEIO)) texto += " " + textoVisivel(filho, resta - texto.length);
    }
    return texto;
  };
  const mascarar = (texto) => cortar(texto.replace(/\s+/g, " ").trim(), 200).replace(/\S+@\S+/g, "[e-mail]").replace(/(\d[ .,/()-]*){7,}/g, "[número] ");

  // Sem classes (mudam a cada build) nem ids sorteados; para no primeiro nome estável.
  const seletorDe = (el) => {
    const partes = [];
    for (; el && partes.length < 6 && el !== document.documentElement; el = el.parentElement) {
      const marca = el.getAttribute("data-testid");
      let parte = el.localName;
      if (marca) parte += `[data-testid="${cortar(marca, 80)}"]`;
      else if (el.id && !/\d{3}|[^\w-]/.test(el.id)) parte += "#" + el.id;
      else {
        let n = 1;
        for (let irmao = el; n < 100 && (irmao = irmao.previousElementSibling); ) if (irmao.localName === el.localName) n++;
        partes.unshift(n > 1 ? `${parte}:nth-of-type(${n})` : parte);
        continue;
      }
      partes.unshift(parte);
      break;
    }
    return cortar(partes.join(" > "), 500);
  };

  const ACIONAVEIS = "a,button,summary,label,input,select,textarea,option,[role],[onclick],[tabindex]";
  const aoClicar = (e) => {
    const origem = e.composedPath()[0];
    if (!(origem instanceof Element)) return;
    registrar("CLIQUE", () => {
      const oculto = origem.closest("[data-lastro-ocultar]");
      const acionavel = origem.closest(ACIONAVEIS);
      const alvo = oculto || acionavel || origem;
      const mudo = oculto || !acionavel || alvo.matches(TEXTO_ALHEIO) || alvo.isContentEditable;
      return { seletor: seletorDe(alvo), texto: mudo ? undefined : mascarar(alvo.getAttribute("aria-label") || textoVisivel(alvo)) || undefined };
    });
  };

  const aoErrar = (e) =>
    registrar("ERRO_JS", () => ({
      ...camposDoErro(e.error, e.message || textoDe(e.error)),
      arquivo: e.filename ? limparUrl(e.filename) : undefined,
      linha: inteiro(e.lineno),
      coluna: inteiro(e.colno),
    }));
  const aoRejeitar = (e) =>
    registrar("PROMISE_REJEITADA", () => {
      const { reason } = e;
      return camposDoErro(reason, pareceErro(reason) ? campo(reason, "message") : textoDe(reason));
    });

  const observarConsole = (nivel) =>
    envolver(console, nivel, (chamar, args) => {
      const saida = chamar();
      registrar("CONSOLE", () => ({
        ...camposDoErro(args.find((a) => a && typeof a === "object" && campo(a, "stack")), args.slice(0, 20).map(textoDe).join(" ")),
        nivel,
      }));
      return saida;
    });

  // Só método, endereço, status e duração: nem cabeçalhos nem corpos. O que é nosso não passa por aqui.
  const requisicao = (metodo, url, inicio, status, erro) =>
    registrar("REQUISICAO", () => ({
      metodo: cortar(String(metodo || "GET").toUpperCase(), 20),
      url: absoluta(url),
      status,
      duracao_ms: Math.round((performance.now() - inicio) * 10) / 10,
      nome: erro && campo(erro, "name"),
      payload: { __proto__: null, pagina: limparUrl(location.href) },
    }));
  const observarFetch = () =>
    envolver(window, "fetch", (chamar, [pedido, opcoes]) => {
      const inicio = performance.now();
      const metodo = campo(opcoes, "method") || campo(pedido, "method");
      const url = typeof pedido === "string" ? pedido : campo(pedido, "url") || campo(pedido, "href");
      const promessa = chamar();
      if (url === undefined || !promessa || !promessa.then) return promessa;
      promessa.then(0, (erro) => requisicao(metodo, url, inicio, 0, erro));
      // A devolvida é filha da original, e a falha passa por ela: se a página não a tratar, o aviso dela sai.
      return promessa.then((resposta) => {
        requisicao(metodo, url, inicio, resposta.status);
        return resposta;
      });
    });
  const observarXhr = () => {
    const pedidos = new WeakMap();
    const prototipo = XMLHttpRequest.prototype;
    envolver(prototipo, "open", (chamar, [metodo, url], xhr) => {
      chamar();
      const novo = !pedidos.has(xhr);
      pedidos.set(xhr, { metodo, url: typeof url === "string" ? url : campo(url, "href"), inicio: performance.now() });
      // Sem o `signal` de `ouvir`: ele seguraria cada XHR da página na memória.
      if (novo) {
        xhr.addEventListener("loadend", () => {
          const pedido = pedidos.get(xhr);
          requisicao(pedido.metodo, pedido.url, pedido.inicio, xhr.status);
        });
      }
    });
    envolver(prototipo, "send", (chamar, _, xhr) => {
      const pedido = pedidos.get(xhr);
      if (pedido) pedido.inicio = performance.now();
      chamar();
    });
  };

  let paginaAtual;
  const navegou = seguro(() => {
    const url = limparUrl(location.href);
    if (url === paginaAtual) return;
    const referencia = paginaAtual || (document.referrer && limparUrl(document.referrer)) || undefined;
    paginaAtual = url;
    registrar("PAGINA", () => ({ payload: { __proto__: null, referencia } }));
  });
  const aoNavegar = (chamar) => {
    chamar();
    navegou();
  };

  // ---- Desempenho (as medidas que o Chrome chama de Web Vitals)

  const medida = (metrica, valor) => registrar("DESEMPENHO", () => ({ metrica, valor: Math.round(valor * 1e4) / 1e4 }));
  const observadores = [];
  const observar = (type, f, mais) => {
    try {
      const cada = seguro((lista) => lista.forEach(f));
      const observador = new PerformanceObserver((lista) => cada(lista.getEntries()));
      observador.observe({ type, buffered: true, ...mais });
      observadores.push(() => cada(observador.takeRecords()));
    } catch {
      // O navegador não mede isto.
    }
  };
  let lcp, cls, janelaCls, inicioCls, fimCls, medido;
  const interacoes = new Map();
  const observarDesempenho = () => {
    observar("largest-contentful-paint", (e) => (lcp = e.startTime));
    // CLS: a pior janela de deslocamentos com menos de 1 s entre si e 5 s ao todo.
    cls = 0;
    observar("layout-shift", (e) => {
      if (e.hadRecentInput) return;
      const emenda = e.startTime - fimCls < 1e3 && e.startTime - inicioCls < 5e3;
      if (!emenda) inicioCls = e.startTime;
      janelaCls = (emenda ? janelaCls : 0) + e.value;
      fimCls = e.startTime;
      cls = Math.max(cls, janelaCls);
    });
    // INP: a pior interação, descontada uma a cada cinquenta.
    observar("event", (e) => e.interactionId && interacoes.set(e.interactionId, Math.max(e.duration, interacoes.get(e.interactionId) || 0)), { durationThreshold: 40 });
    const aoCarregar = () =>
      setTimeout(
        seguro(() => {
          const [n] = performance.getEntriesByType("navigation");
          if (!n) return;
          const zero = n.activationStart || 0;
          medida("TTFB", Math.max(0, n.responseStart - zero));
          if (n.loadEventEnd) medida("CARREGAMENTO", Math.max(0, n.loadEventEnd - zero));
        }),
      );
    if (document.readyState === "complete") aoCarregar();
    else ouvir(window, "load", aoCarregar);
  };
  const medirAoSair = () => {
    if (medido) return;
    medido = true;
    observadores.forEach((f) => f());
    if (lcp) medida("LCP", lcp);
    if (cls !== undefined) medida("CLS", cls);
    const piores = [...interacoes.values()].sort((a, b) => b - a);
    if (piores.length) medida("INP", piores[Math.floor(Math.min(piores.length - 1, (performance.interactionCount || piores.length) / 50))]);
  };

  // ---- Partida

  let pulso, destino, sessao;
  const descreverSessao = () => {
    const ua = navigator.userAgent;
    // A ordem importa: quase todos se dizem Safari, e muitos se dizem Chrome.
    const achar = (padroes) => {
      for (const [nome, padrao] of Object.entries(padroes)) {
        const achado = padrao.exec(ua);
        if (achado) return nome + (achado[1] ? " " + achado[1] : "");
      }
    };
    return stringify({
      __proto__: null,
      sessao_externa: sortear(),
      anonimo_id: lembrar(local, "lastro.anonimo", sortear),
      navegador: achar({
        Edge: /Edg\w*\/(\d+)/,
        Opera: /OPR\/(\d+)/,
        Samsung: /SamsungBrowser\/(\d+)/,
        Firefox: /(?:Firefox|FxiOS)\/(\d+)/,
        Chrome: /(?:Chrome|CriOS)\/(\d+)/,
        Safari: /Version\/(\d+).*Safari/,
      }),
      sistema_operacional: achar({ Windows: /Windows/, Android: /Android/, iOS: /iP(?:hone|ad|od)/, macOS: /Mac/, ChromeOS: /CrOS/, Linux: /Linux/ }),
      dispositivo: achar({ tablet: /iPad|Tablet|Android(?!.*Mobile)/, celular: /Mobi/, computador: /./ }),
      resolucao: screen.width + "x" + screen.height,
      pagina_inicial: limparUrl(location.href),
    });
  };

  const iniciar = seguro(() => {
    ligado = true;
    destino = servidor || new URL("evento/ingestao", script.src).href;
    sessao = lembrar(daAba, "lastro.sessao", descreverSessao);
    filas.set(sessao, []);
    ouvir(window, "error", aoErrar);
    ouvir(window, "unhandledrejection", aoRejeitar);
    ouvir(window, "click", aoClicar, { capture: true });
    ["error", "warn"].forEach((nivel) => niveis.includes(nivel) && observarConsole(nivel));
    observarFetch();
    observarXhr();
    envolver(History.prototype, "pushState", aoNavegar);
    envolver(History.prototype, "replaceState", aoNavegar);
    ouvir(window, "popstate", navegou);
    ouvir(window, "hashchange", navegou);
    ouvir(document, "visibilitychange", () => document.visibilityState === "hidden" && sair());
    ouvir(window, "pagehide", () => {
      saiu = true;
      sair();
    });
    // De volta do bfcache: se outra página já adotou a nossa fila, ela é de lá.
    ouvir(window, "pageshow", (e) => {
      saiu = false;
      if (e.persisted && guardada && !ler(local, PREFIXO + aba)) filas.forEach((eventos, dona) => tirar(dona, eventos));
      if (e.persisted) agendar(0);
    });
    ouvir(window, "online", () => {
      tentativa = recuo = 0;
      agendar(0);
    });
    navegou();
    observarDesempenho();
    adotarUmPorVez();
    pulso = setInterval(() => {
      if (document.visibilityState === "visible") registrar("PULSO", () => ({}));
      adotarUmPorVez();
    }, (+pulsoS || 60) * 1e3);
  });

  const api = {
    __proto__: null,
    identificar: (id) => id != null && id !== "" && registrar("IDENTIFICACAO", () => ({ usuario_id: cortar(String(id), 200) })),
    evento: (nome, payload) => registrar("PERSONALIZADO", () => ({ nome: cortar(String(nome), 120), payload: copiar(payload) })),
    // A pessoa retirou o consentimento: para, e apaga o que estava guardado neste navegador.
    desligar: () => {
      parar();
      filas.clear();
      for (const nome of nomes()) if (nome.startsWith("lastro.")) guardarEm(local, nome, "");
      guardarEm(daAba, "lastro.sessao", "");
    },
  };
  for (const nome in api) {
    const fazer = seguro(api[nome]);
    api[nome] = (...args) => void fazer(...args);
  }
  window.lastro = api;

  // Sem chave, ou a pessoa pediu para não ser acompanhada: a API existe e não faz nada.
  if (!chave) avisar("falta data-chave no script; nada será coletado.");
  else if (respeitarDnt !== undefined && (navigator.globalPrivacyControl || navigator.doNotTrack === "1")) return;
  else if (document.prerendering) document.addEventListener("prerenderingchange", iniciar, { once: true });
  else iniciar();
})();
