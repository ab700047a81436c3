"""Providers of chat models: one module each behind one table."""
