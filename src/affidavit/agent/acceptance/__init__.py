"""Decides whether a submitted diagnosis is accepted."""
