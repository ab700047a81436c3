"""What is refused even when it is approved. The Critic asks before, the executor asks again before the call."""

import re
from collections.abc import Iterator, Mapping, Sequence

from affidavit.ports.aws_reads_and_changes import ApiCall
from affidavit.ports.json import JsonValue

_NEVER = (
    (re.compile(r"iam:(Put|Delete)(Role|User)PermissionsBoundary"), "it changes a permissions boundary"),
    (re.compile(r"iam:UpdateAssumeRolePolicy"), "it changes who may take a role"),
    (re.compile(r"iam:PassRole"), "it passes a role on"),
    (re.compile(r"iam:Create\w+"), "it creates an identity or a policy"),
    (re.compile(r"ec2:(Authorize|Revoke|Modify)\w*Ingress"), "it changes what may come in"),
)
# Deletions that only take back what a repair or its undo put there.
_TAKES_BACK = {
    "lambda:DeleteFunctionConcurrency",
    "iam:DeleteRolePolicy",
    "ec2:DeleteNetworkAclEntry",
    "ec2:DeleteRoute",
}
_DELETES = re.compile(r"[\w-]+:(Delete|Schedule\w*Deletion)")
_PASSES_ROLE = re.compile(r"iam:(PassRole|Pass\*|\*)", re.IGNORECASE)


def refused_calls(calls: Sequence[ApiCall]) -> Iterator[str]:
    """Why these calls are never made, each a sentence."""
    for call in calls:
        for pattern, why in _NEVER:
            if pattern.fullmatch(call.action):
                yield f"{call.action} is never called: {why}"
        if _DELETES.match(call.action) and call.action not in _TAKES_BACK:
            yield f"{call.action} is never called: it deletes what nobody here made"
        if any(_PASSES_ROLE.search(text) for text in _texts(call.parameters)):
            yield f"{call.action} is never called with a grant of iam:PassRole"


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from _texts(inner)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner)
