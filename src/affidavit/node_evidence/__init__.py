"""Gets the evidence of a node for its incident: the bundles that are there, or a collection, asked for once."""
