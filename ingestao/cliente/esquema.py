"""As tabelas da fila. Um arquivo só guarda eventos, recortes, contagens e o índice dos quadros.

SQLite 3.34 (o das placas com Debian 11) basta: nada de RETURNING nem de tabelas STRICT.
"""

from __future__ import annotations

VERSAO = 1

PRONTO, ESPERANDO, QUARENTENA = 0, 1, 2  # evento.situacao

# `resumo` é o SHA-256 de corpo e recorte: cartão SD que estraga um byte não vira prova errada no servidor.
# `recorte` fica à parte para que andar pela fila não arraste as imagens.
# `nao_antes_ms` e `mono_ms` são do relógio monotônico do boot anotado ao lado.
SQL_CRIAR = """
CREATE TABLE evento (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id_evento TEXT NOT NULL UNIQUE,
    corpo TEXT NOT NULL,
    tamanho_bytes INTEGER NOT NULL,
    resumo BLOB NOT NULL,
    capturado_em TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    mono_ms INTEGER NOT NULL,
    situacao INTEGER NOT NULL DEFAULT 0,
    tentativas INTEGER NOT NULL DEFAULT 0,
    falhas INTEGER NOT NULL DEFAULT 0,
    nao_antes_ms INTEGER NOT NULL DEFAULT 0,
    motivo TEXT,
    detalhe TEXT,
    quarentena_em TEXT
);
CREATE INDEX evento_vez ON evento (situacao, seq);
CREATE INDEX evento_espera ON evento (nao_antes_ms) WHERE situacao = 1;
CREATE TABLE recorte (seq INTEGER PRIMARY KEY, jpeg BLOB NOT NULL);

CREATE TABLE descarte (motivo TEXT PRIMARY KEY, total INTEGER NOT NULL, por_relatar INTEGER NOT NULL);
CREATE TABLE relato (relato_id TEXT PRIMARY KEY, descartados TEXT NOT NULL);
CREATE TABLE latencia (id_evento TEXT PRIMARY KEY, ms INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE quadro (
    numero INTEGER PRIMARY KEY AUTOINCREMENT,
    sha256 TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    guardado_em TEXT NOT NULL,
    boot_id TEXT NOT NULL,
    mono_ms INTEGER NOT NULL,
    situacao TEXT NOT NULL
);
CREATE INDEX quadro_guardado ON quadro (numero) WHERE situacao = 'guardado';
CREATE TABLE quadro_de (id_evento TEXT PRIMARY KEY, numero INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX quadro_de_numero ON quadro_de (numero);

CREATE TABLE anotacao (nome TEXT PRIMARY KEY, valor TEXT NOT NULL);
"""
