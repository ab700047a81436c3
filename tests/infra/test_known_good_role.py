"""The watchdog's rights for known-good states, in force on the emulator: enough for named functions, and no more."""

import json
from typing import Any
from uuid import uuid4

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.errors import UpstreamFailed
from affidavit.known_good.capture import RECENT
from affidavit.known_good.function_run_counts import runs_between
from affidavit.known_good.function_state_reading import read_state
from affidavit.ports.clock import SystemClock
from affidavit.sandbox.sandbox import Sandbox
from tests.infra.conftest import ROOT
from tests.support.repairing.repaired_account import make_account
from tests.support.repairing.repaired_function import TRUST, make_function

TEMPLATE = json.loads((ROOT / "infra" / "templates" / "AffidavitSupervisor.template.json").read_text())


def resolved(value: Any, refs: dict[str, Any]) -> Any:
    """What CloudFormation makes of the functions that this policy uses."""
    match value:
        case {"Ref": name}:
            return refs[name]
        case {"Fn::Join": [separator, parts]}:
            return separator.join(resolved(parts, refs))
        case {"Fn::Split": [separator, text]}:
            return resolved(text, refs).split(separator)
        case {"Fn::Select": [place, items]}:
            return resolved(items, refs)[int(place)]
        case dict():
            return {key: resolved(one, refs) for key, one in value.items()}
        case list():
            return [resolved(one, refs) for one in value]
        case _:
            return value


def policy(region: str, functions: list[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    refs = {"AWS::Partition": "aws", "AWS::Region": region, "AWS::AccountId": "000000000000"}
    found = [one for name, one in TEMPLATE["Resources"].items() if name.startswith("KeepKnownGood")]
    return found[0], resolved(found[0]["Properties"]["PolicyDocument"], {**refs, "KnownGoodFunctions": functions})


def test_the_named_functions_are_read_whole_and_no_other(
    sandbox: Sandbox, aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    made, role = make_account(sandbox), f"watchdog-{uuid4().hex[:8]}"
    make_function(sandbox, other := f"orders-{uuid4().hex[:8]}")
    iam = sandbox.client("iam")
    arn = iam.create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    _, document = policy(sandbox.region, ["payments", made.name])
    iam.put_role_policy(RoleName=role, PolicyName="known-good", PolicyDocument=json.dumps(document))
    keys = sandbox.client("sts").assume_role(RoleArn=arn, RoleSessionName="watchdog")["Credentials"]
    for name, key in (("ACCESS_KEY_ID", "AccessKeyId"), ("SECRET_ACCESS_KEY", "SecretAccessKey")):
        monkeypatch.setenv(f"AWS_{name}", keys[key])
    monkeypatch.setenv("AWS_SESSION_TOKEN", keys["SessionToken"])
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", aws_environment["AWS_ENDPOINT_URL"])
    inspector, now = AwsStateInspector(AwsClients(sandbox.region)), SystemClock().now()
    state = read_state(inspector, made.name, digest_key=b"k" * 32)
    assert state.why_not_read == {}
    assert state.document["network"]["route_tables"] and state.document["permissions"]["attached_policies"]
    assert runs_between(inspector, made.name, start=now - RECENT, end=now).errors == 0
    with pytest.raises(UpstreamFailed):
        read_state(inspector, other, digest_key=b"k" * 32)


def test_states_are_written_below_their_own_names_alone() -> None:
    whole, document = policy("ca-central-1", ["orders"])
    named = {one["Sid"]: one for one in document["Statement"]}
    assert whole["Condition"] == "KeepsKnownGood"
    assert TEMPLATE["Parameters"]["KnownGoodFunctions"]["Default"] == ""
    assert str(named["KeepStates"]["Resource"]).endswith("/baselines/*")
    assert named["NoteStates"]["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": ["KNOWN_GOOD", "KNOWN_GOOD#*"]}
    }
    names = [one.rpartition(":")[2] for one in named["ReadNamedFunctions"]["Resource"]]
    assert names == ["orders", *["-"] * 9]
