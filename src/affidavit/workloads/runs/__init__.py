"""Turns the log events of a Lambda function into runs: how each ended, and what it complained about."""

from affidavit.workloads.runs.reader import read_runs
from affidavit.workloads.runs.run import Ending, Run, Statement

__all__ = ["Ending", "Run", "Statement", "read_runs"]
