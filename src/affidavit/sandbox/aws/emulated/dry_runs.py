"""Gives the emulator EC2's DryRun, which it ignores: permissions are checked, nothing is changed."""

from typing import Any

_DONE = "Request would have succeeded, but DryRun flag is set."


def heed_dry_runs(ec2: Any) -> None:
    """`ec2` is the emulator's service module. IAM was asked before its handlers are."""
    for action, handler in list(ec2._ACTION_MAP.items()):
        ec2._ACTION_MAP[action] = _heeding(ec2, handler)


def _heeding(ec2: Any, handler: Any) -> Any:
    def handle(parameters: Any) -> Any:
        if str(ec2._p(parameters, "DryRun")).lower() == "true":
            return ec2._error("DryRunOperation", _DONE, 412)
        return handler(parameters)

    return handle
