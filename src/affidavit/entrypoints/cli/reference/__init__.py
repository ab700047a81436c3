"""Writes `docs/reference/`."""
