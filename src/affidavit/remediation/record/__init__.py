"""What happened to a plan: append-only, hash-chained, re-derived from its entries alone."""
