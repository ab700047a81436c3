"""Checks: numbers computed from command output, and what they mean. Each is a YAML file with samples."""
