"""Repairs in the console: plans that wait, what they would change, and the decisions of people."""
