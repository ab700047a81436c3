"""Scores the node half: bundles with known faults, every question asked, answers compared with the truth."""
