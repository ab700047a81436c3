"""Asks nodes for their bundles: the only code that acts on a node. It starts nothing twice and nothing unasked."""
