"""Carries plans out. The only code that changes anything."""
