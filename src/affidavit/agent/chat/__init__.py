"""Chat models: providers, turns, retries, and two that need no network."""
