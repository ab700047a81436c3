"""Reads the time of a line and the clock of a bundle."""
