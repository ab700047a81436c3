"""Doors: parse, call, present."""
