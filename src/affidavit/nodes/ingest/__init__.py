"""Takes bundles into the library: read, store, record what became of each."""
