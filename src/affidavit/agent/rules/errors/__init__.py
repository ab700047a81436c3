"""Faults that an error tells by its own words, and how a cause names it."""
