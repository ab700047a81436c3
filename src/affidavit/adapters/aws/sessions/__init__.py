"""Clients of AWS by an assumed role, and the models of its services."""
