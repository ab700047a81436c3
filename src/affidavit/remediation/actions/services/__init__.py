"""Repairs of keys and queues that a function needs."""
