"""Explains findings: which of them are causes, which effects, and what stays unexplained. Knowledge is in `graph`."""
