"""Repairs of what a function's role may do."""
