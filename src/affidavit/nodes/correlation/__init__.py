"""Puts findings in order of time, in clusters and in potential causal chains."""
