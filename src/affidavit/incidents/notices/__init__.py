"""Tells people how an incident ended."""
