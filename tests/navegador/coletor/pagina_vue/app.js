// Uma tela pequena em Vue. O erro de `quebrar` é apanhado pelo Vue, que o escreve com console.error.
Vue.createApp({
  setup() {
    const conta = Vue.ref("0");
    return {
      conta,
      somar: () => (conta.value = "1"),
      quebrar: () => null.campo,
      navegar: () => history.pushState({}, "", "/loja/produto?ref=vue"),
      buscar: async () => (conta.value += " " + (await (await fetch("/api/ok")).json()).ok),
    };
  },
  template: `
    <output>{{ conta }}</output>
    <button @click="somar">Somar</button>
    <button @click="quebrar">Quebrar</button>
    <button @click="navegar">Navegar</button>
    <button @click="buscar">Buscar</button>`,
}).mount("#app");
