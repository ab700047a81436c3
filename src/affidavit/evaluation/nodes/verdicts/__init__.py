"""Verdicts on bundles whose cause is known: the cases, how each is judged, and their runs."""
