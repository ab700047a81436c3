"""One module a stack."""
