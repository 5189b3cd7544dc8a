"""O cliente que roda no dispositivo, contra um servidor HTTP roteirizado: a rede de fora é o que se inventa."""
