"""Limits and checks against hostile archives."""
