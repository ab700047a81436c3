"""Finds secrets that one line alone does not give away: key blocks, Kubernetes Secrets, columns of CSV."""
