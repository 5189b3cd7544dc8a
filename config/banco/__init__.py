"""Adaptador do PostgreSQL para o Django; `base.py` tem o nome que o Django procura."""
