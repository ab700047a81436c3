"""Builds what is published (wheel, sdist, MCP bundle) and tries it as a stranger would: in clean environments."""
