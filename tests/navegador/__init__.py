"""Um navegador de verdade numa página de outra origem, contra um servidor de verdade."""
