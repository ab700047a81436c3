"""Breaks the demo workload on purpose, and puts back exactly what was there."""
