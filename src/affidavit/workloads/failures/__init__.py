"""Knows what an error's words mean: which fault they tell of, and of whom."""

from affidavit.workloads.failures.called_systems import called_system
from affidavit.workloads.failures.catalog import FailureKind, Match, failure_kinds, matches

__all__ = ["FailureKind", "Match", "called_system", "failure_kinds", "matches"]
