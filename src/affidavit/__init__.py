"""Affidavit: evidence-grounded incident response for AWS."""

__version__ = "0.1.0"
