"""Searches the stored files of a bundle with a caller's pattern."""
