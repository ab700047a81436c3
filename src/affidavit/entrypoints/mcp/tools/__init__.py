"""The table of MCP tools, their schemas and how results are written."""
