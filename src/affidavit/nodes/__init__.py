"""Questions about a node, answered from its findings index."""
