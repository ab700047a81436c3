"""The MCP server: the tools of the library for agents and editors, over stdio and HTTP."""
