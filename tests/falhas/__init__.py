"""Injeção de falhas com processos de verdade: o que se promete vale também quando algo cai.

Um servidor (`manage.py local`) atende a pasta quase toda; os testes que o esgotam têm o seu.
"""
