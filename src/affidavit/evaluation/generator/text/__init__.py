"""Writes lines and times the way daemons and collectors do."""
