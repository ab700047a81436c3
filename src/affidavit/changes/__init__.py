"""Reversible changes to a workload: each knows what was there and how to put it back."""
