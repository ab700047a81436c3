"""Turns the log events of a Lambda function into runs: how each ended, and what it complained about."""

from affidavit.workloads.runs.function_run import Ending, Run, Statement
from affidavit.workloads.runs.reader import read_runs

__all__ = ["Ending", "Run", "Statement", "read_runs"]
