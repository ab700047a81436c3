"""Hides secrets always, personal data on request. Patterns are YAML with samples."""
