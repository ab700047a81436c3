"""The API of a Kubernetes cluster, through its official client: what it sees of a node, and requests for its logs."""
