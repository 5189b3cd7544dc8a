"""As linhas de docs/seguranca.md que atravessam os fluxos; as que são de um só moram com os testes dele."""
