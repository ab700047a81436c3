"""Who called, as CloudTrail tells it: a name that may be shown, never an access key."""

import json
from types import SimpleNamespace

import pytest

from affidavit.agent.rules.breaking_changes import who
from affidavit.redaction.redact import Redactor
from affidavit.sandbox.aws.emulated.trail_callers import name_callers

KEY = "ASIAIOSFODNN7EXAMPLE"


@pytest.mark.parametrize(
    ("arn", "kind", "shown"),
    [
        ("arn:aws:iam::000000000000:root", "Root", "root"),
        ("arn:aws:iam::000000000000:user/alina", "IAMUser", "alina"),
        ("arn:aws:sts::000000000000:assumed-role/deploy/ci-17", "AssumedRole", "deploy/ci-17"),
    ],
)
def test_a_caller_is_named_as_aws_names_it(arn: str, kind: str, shown: str) -> None:
    queue: list[dict[str, str]] = []

    def record_event(*, access_key_id: str, username: str) -> None:
        told = {"userIdentity": {"arn": f"arn:aws:iam::0:user/{username}", "userName": username}}
        queue.append({"Username": username, "CloudTrailEvent": json.dumps(told)})

    trail = SimpleNamespace(record_event=record_event, _get_event_queue=lambda: queue)
    name_callers(trail, lambda _: {"userArn": arn, "userId": "AIDA"})
    trail.record_event(access_key_id=KEY, username=KEY)
    told = json.loads(queue[0]["CloudTrailEvent"])["userIdentity"]
    assert (told["type"], who(told["arn"])) == (kind, shown)
    assert KEY not in json.dumps(queue)
    assert Redactor().known(told["arn"]).text == told["arn"]


def test_a_key_in_the_place_of_a_name_is_still_hidden() -> None:
    assert KEY not in Redactor().known(f"{who(f'arn:aws:iam::000000000000:user/{KEY}')} called DeleteRolePolicy").text
