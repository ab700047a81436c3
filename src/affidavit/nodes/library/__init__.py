"""The stored bundles and indexes of every node: keys, lines, checksums, citations."""
