"""Compares what a pointer's value says with what the sentence beside it says."""
