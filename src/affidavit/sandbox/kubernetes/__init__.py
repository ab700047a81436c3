"""The API of the sandbox's cluster, and the node monitoring agent behind it."""
