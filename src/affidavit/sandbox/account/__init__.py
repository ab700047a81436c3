"""The account the demo happens in: the function, its permissions and network, and the nodes."""
