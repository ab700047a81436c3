"""Reads what monitoring systems post to our webhooks."""
