"""The requests and answers of the node questions, as they stand on the wire."""
