"""Scores the incident half: scenarios with known causes, and chat models that lie."""
