"""Scenarios with known answers, the runner that scores us on them, and the report."""
