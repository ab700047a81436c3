"""Hands an incident on as one file that still verifies."""
