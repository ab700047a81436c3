"""One attempt at an incident: run the diagnostician, check its result, keep what was proven."""
