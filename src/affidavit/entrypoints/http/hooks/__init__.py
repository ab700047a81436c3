"""Webhooks: monitoring systems post their alerts here."""
