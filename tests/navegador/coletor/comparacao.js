// Tudo o que uma página pode observar de fetch, XMLHttpRequest, history e console: roda com e sem o coletor.
async () => {
  const erro = async (fazer) => {
    try {
      await fazer();
      return "nada";
    } catch (e) {
      return `${e.constructor.name} ${e.name} ${e.message}`;
    }
  };
  const cancelar = () => {
    const controle = new AbortController();
    const promessa = fetch("/api/fluxo", { signal: controle.signal });
    controle.abort("motivo");
    return promessa;
  };
  const motivo = await cancelar().catch((e) => e);

  const leitor = (await fetch("/api/fluxo")).body.getReader();
  let pedacos = "";
  for (let pedaco; !(pedaco = await leitor.read()).done; ) pedacos += new TextDecoder().decode(pedaco.value);

  let rejeicoes = 0;
  const contar = (e) => {
    rejeicoes++;
    e.preventDefault();
  };
  addEventListener("unhandledrejection", contar);
  fetch("http://127.0.0.1:1/");
  await new Promise((pronto) => setTimeout(pronto, 500));
  removeEventListener("unhandledrejection", contar);

  const eventos = [];
  await new Promise((pronto) => {
    const xhr = new XMLHttpRequest();
    for (const tipo of ["loadstart", "load", "loadend", "readystatechange"]) {
      xhr.addEventListener(tipo, () => eventos.push(tipo + xhr.readyState));
    }
    xhr.open("GET", "/api/ok");
    xhr.responseType = "json";
    xhr.onloadend = () => {
      eventos.push(xhr.response.ok);
      pronto();
    };
    xhr.send();
  });

  const solta = fetch;
  const prototipo = XMLHttpRequest.prototype;
  return {
    motivo,
    pedacos,
    rejeicoes,
    eventos,
    endereco_ruim: await erro(() => fetch("http://[")),
    metodo_ruim: await erro(() => fetch("/", { method: "CONNECT" })),
    sem_argumento: await erro(() => fetch()),
    open_alheio: await erro(() => prototipo.open.call({}, "GET", "/")),
    send_sem_open: await erro(() => new XMLHttpRequest().send()),
    open_proibido: await erro(() => new XMLHttpRequest().open("TRACE", "/")),
    history_alheio: (await erro(() => history.pushState({}, "", "http://outro.test/"))).split(":")[0],
    assinaturas: [fetch.name, fetch.length, prototipo.open.length, console.error.name, String(fetch).includes("native code")],
    solta: (await solta("/api/ok")).status,
    resposta: (await fetch("/api/ok")) instanceof Response,
    promessa: fetch("/api/ok").constructor === Promise,
    propriedades: Object.keys(new XMLHttpRequest()),
  };
}
