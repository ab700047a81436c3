"""What the domain needs of the outside: one small protocol a module. Adapters live in `adapters/`.

One contract suite (`tests/contracts`) runs on every adapter of a port.
"""
