"""Patterns over bytes: the pattern language, the engines that match it, and caches of what was compiled or parsed."""
