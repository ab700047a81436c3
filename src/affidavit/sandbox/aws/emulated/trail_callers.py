"""Makes the emulator's CloudTrail name who called, as AWS's does: the user, or the role and its session.

The emulator writes the access key where AWS writes a name. A key is hidden wherever text leaves, so nobody could read
who had changed something.
"""

import json
from collections.abc import Callable
from typing import Any


def name_callers(trail: Any, caller: Callable[[str], dict[str, Any] | None]) -> None:
    """`trail` is the emulator's module; `caller` knows whose a key is, None when it is nobody's."""
    known = trail.record_event

    def record(*, access_key_id: str, **told: Any) -> None:
        known(access_key_id=access_key_id, **told)
        found = caller(access_key_id)
        if found is not None:
            _rename(trail._get_event_queue()[-1], found["userArn"], found["userId"])

    trail.record_event = record


def _rename(event: dict[str, Any], arn: str, principal: str) -> None:
    told: dict[str, Any] = json.loads(event["CloudTrailEvent"])
    name = arn.rpartition("/")[2] if "/" in arn else "root"
    told["userIdentity"] |= {"type": _kind(arn), "arn": arn, "principalId": principal}
    if told["userIdentity"]["type"] == "IAMUser":
        told["userIdentity"]["userName"] = name
    else:
        told["userIdentity"].pop("userName", None)
    event |= {"Username": name, "CloudTrailEvent": json.dumps(told)}


def _kind(arn: str) -> str:
    if ":assumed-role/" in arn:
        return "AssumedRole"
    return "IAMUser" if ":user/" in arn else "Root"
