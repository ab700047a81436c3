"""The catalog of actions: one module each, listed in `catalog.py`."""
