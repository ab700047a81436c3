"""Network faults: what a function tried to reach, and what blocks the way."""
