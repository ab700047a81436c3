"""Questions about nodes, one module each: a function of a library and a request that gives an answer."""
