"""Long work as MCP tasks."""
