"""Scans files for rule hits, in several processes."""
