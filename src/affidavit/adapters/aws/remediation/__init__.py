"""Reads the state that a repair changes, and makes its calls under a session policy."""
