"""Actions that log lines say were denied, in the wordings AWS uses."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from affidavit.ports import LogLine

NAMED = re.compile(
    r"not authorized to perform:? (?P<action>[a-z0-9-]+:[A-Za-z*]+)(?: on resource: \"?(?P<resource>arn:[^\s\"]+|\*))?"
)
BY_OPERATION = re.compile(
    r"\((?:AccessDenied|AccessDeniedException|403)\) when calling the (?P<operation>\w+) operation"
)
# Only S3 answers a denial without naming the action; an operation that is not listed here is its own action.
S3_ACTIONS = {
    "HeadObject": "s3:GetObject",
    "HeadBucket": "s3:ListBucket",
    "ListObjects": "s3:ListBucket",
    "ListObjectsV2": "s3:ListBucket",
    "CopyObject": "s3:PutObject",
    "GetObject": "s3:GetObject",
    "PutObject": "s3:PutObject",
    "DeleteObject": "s3:DeleteObject",
}


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Denial:
    action: str
    resource: str | None
    """None when the line does not say."""


def denials(lines: Iterable[LogLine]) -> list[Denial]:
    """Each once, in the order of the lines. A line that names the resource wins over one that does not."""
    found = dict.fromkeys(denial for line in lines for denial in _in_line(line.message))
    named = {denial.action for denial in found if denial.resource is not None}
    return [denial for denial in found if denial.resource is not None or denial.action not in named]


def _in_line(message: str) -> list[Denial]:
    named = [Denial(action=match["action"], resource=_resource(match)) for match in NAMED.finditer(message)]
    operations = (match["operation"] for match in BY_OPERATION.finditer(message))
    return named or [Denial(action=S3_ACTIONS[name], resource=None) for name in operations if name in S3_ACTIONS]


def _resource(match: re.Match[str]) -> str | None:
    if match["resource"] is not None:
        return match["resource"].rstrip(".,")
    # Elsewhere a denial that names no resource is about an action that takes none; S3's actions all take one.
    return None if match["action"].startswith("s3:") else "*"
