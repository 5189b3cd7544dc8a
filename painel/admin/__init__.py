"""As telas do painel, um módulo por aplicativo do Django.

- `dlr/`               integrações, exceções, mensagens, recepções e eventos dos recibos.
- `capturas/`          aparelhos, capturas, contestações, medidas e recusas.
- `ingestao/`          aplicativos, sessões, eventos, erros, uso, recusas, avisos e a caixa de entrada.
- `painel/`            avisos, destinos, entregas e limiares.
- `usuarios.py`        usuários, papéis e grupos.
- `entradas.py`        quem entrou, e quem está travado por errar a senha.
- `trilha.py`          o que cada um fez e o que viu de mascarado.
- `mascara.py` `revelacao.py`  telefones e segredos escondidos, e mostrá-los com trilha.
- `navegacao.py`       o menu.
- `somente_leitura.py` a tela que mostra e não muda.
- `tabela_grande.py`   lista sem contagem total, ordenada por índice.
- `filtros.py`         os filtros da barra das listas; `recentes.py`, os que a página inicial pede.
- `ficha.py`           rótulos e valores de uma página.
- `texto_alheio.py` `inerte.py`  texto de desconhecidos: visível, inerte, e mascarado nas listas.
"""

from django.contrib import admin
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from painel.admin import capturas, dlr, entradas, ingestao, painel, trilha, usuarios

# As telas do django-otp mostram o segredo e deixam criar um para os outros: aqui só a própria pessoa o cria.
admin.site.unregister((TOTPDevice, StaticDevice))

__all__ = ["capturas", "dlr", "entradas", "ingestao", "painel", "trilha", "usuarios"]
