"""Knows what an error's words mean: which fault they tell of, and of whom."""

from affidavit.workloads.failures.catalog import FailureKind, Match, failure_kinds, matches

__all__ = ["FailureKind", "Match", "failure_kinds", "matches"]
