"""Sources of arguments: made of what was recorded, in order of trust, each re-read to the same digest."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.repairing.remediation import a_subject
from tests.support.repairing.repaired_function import TRUST

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.errors import NotFound
from affidavit.known_good.capture import Captures
from affidavit.known_good.store import KnownGoodStore
from affidavit.ports.argument_sources import ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.clock import SystemClock
from affidavit.remediation.sources import source_documents
from affidavit.remediation.sources.argument_source_lookup import RecordedSources
from affidavit.sandbox.account.function_account import package
from affidavit.sandbox.sandbox import Sandbox

MORNING = datetime(2026, 1, 15, 10, tzinfo=UTC)
ARN = "arn:aws:lambda:ca-central-1:000000000000:function:f"


def said(kind: SourceKind, reference: str, minutes: int) -> SourceDocument:
    source = ArgumentSource(kind=kind, reference=reference, sha256="0" * 64)
    return SourceDocument(source=source, at=MORNING - timedelta(minutes=minutes), document={})


def test_the_most_trusted_come_first_and_of_one_kind_the_newest() -> None:
    given = [
        said(SourceKind.POLICY_VERSION, "v1", 1),
        said(SourceKind.TRAIL_EVENT, "old", 9),
        said(SourceKind.TRAIL_EVENT, "new", 2),
        said(SourceKind.BASELINE, "state", 50),
    ]
    ordered = source_documents.in_order(given, before=MORNING)
    assert [one.source.reference for one in ordered] == ["state", "new", "old", "v1"]


def test_what_was_so_only_after_the_moment_is_no_source() -> None:
    given = [said(SourceKind.BASELINE, "at", 0), said(SourceKind.BASELINE, "just before", 1)]
    assert [one.source.reference for one in source_documents.in_order(given, before=MORNING)] == ["just before"]


def test_values_of_environment_variables_never_enter_a_source() -> None:
    event = {
        "eventID": "e-1",
        "eventTime": "2026-01-15T09:00:00Z",
        "requestParameters": {"functionName": "f", "environment": {"variables": {"PASSWORD": "hunter2"}}},
    }
    made = source_documents.of_event(event)
    assert "hunter2" not in json.dumps(made.document)
    assert made.document["requestParameters"] == {"functionName": "f"}


def test_a_version_says_the_same_whatever_lambda_reports_of_its_state() -> None:
    version = {"FunctionArn": f"{ARN}:1", "LastModified": "2026-01-15T09:00:00.000+0000", "Timeout": 3}
    pending = {**version, "State": "Pending", "StateReasonCode": "Creating", "RevisionId": "a"}
    active = {**version, "State": "Active", "LastUpdateStatus": "Successful", "RevisionId": "b"}
    first, second = (source_documents.of_function_version(one, has_good_variables=True) for one in (pending, active))
    assert first == second
    assert first.document["Timeout"] == 3


def test_only_calls_that_set_an_alias_tell_its_former_target() -> None:
    request = {"functionName": "f", "name": "live", "functionVersion": "7"}
    event = {"eventTime": "2026-01-15T09:00:00Z", "eventName": "UpdateAlias20150331", "requestParameters": request}
    made = source_documents.of_alias_event(event, ARN)
    assert made is not None and made.source.reference == f"{ARN}:live#7"
    assert source_documents.of_alias_event({**event, "eventName": "DeleteAlias20150331"}, ARN) is None


@pytest.fixture
def repaired(sandbox: Sandbox, aws_environment: dict[str, str]) -> Iterator[str]:
    """A function with a role of its own."""
    name, iam = f"orders-{uuid4().hex[:8]}", sandbox.client("iam")
    role = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
    sandbox.client("lambda").create_function(
        FunctionName=name, Runtime="python3.12", Handler="handler.handler", Role=role, Code={"ZipFile": package()}
    )
    yield name


@pytest.fixture
def sources(aws_environment: dict[str, str], tmp_path: Path) -> RecordedSources:
    clock = SystemClock()
    table = SqliteTable(tmp_path / "state.sqlite", "state", clock)
    store = KnownGoodStore(objects=DirectoryObjectStore(tmp_path / "objects"), table=table, clock=clock)
    return RecordedSources(store=store, inspector=AwsStateInspector(AwsClients(aws_environment["AWS_REGION"])))


def document(action: str) -> str:
    statement = {"Effect": "Allow", "Action": action, "Resource": "arn:aws:s3:::orders/*"}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_everything_recorded_about_a_function_is_found_and_rereads_to_the_same_digest(
    sandbox: Sandbox, repaired: str, sources: RecordedSources
) -> None:
    iam, functions = sandbox.client("iam"), sandbox.client("lambda")
    iam.put_role_policy(RoleName=repaired, PolicyName="read", PolicyDocument=document("s3:GetObject"))
    policy = iam.create_policy(PolicyName=repaired, PolicyDocument=document("s3:PutObject"))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName=repaired, PolicyArn=policy)
    iam.create_policy_version(PolicyArn=policy, PolicyDocument=document("s3:ListBucket"), SetAsDefault=True)
    functions.publish_version(FunctionName=repaired)
    captures = Captures(store=sources.store, inspector=sources.inspector)
    captures.capture(repaired, troubled=lambda _: False, is_insisting=True)
    later = datetime.now(UTC) + timedelta(minutes=1)
    found = sources.about(a_subject(repaired), before=later)
    kinds = [one.source.kind for one in found]
    assert kinds == sorted(kinds, key=lambda kind: kind.trust)
    assert {*kinds} == {*SourceKind} - {SourceKind.ALIAS_TARGET, SourceKind.NODE}
    names = [one.document["eventName"] for one in found if one.source.kind is SourceKind.TRAIL_EVENT]
    assert "PutRolePolicy" in names and "AttachRolePolicy" in names
    former = next(one for one in found if one.source.kind is SourceKind.POLICY_VERSION)
    assert former.document["version_id"] == "v1" and former.document["document"] == json.loads(document("s3:PutObject"))
    for one in found:
        assert sources.reread(one.source).source == one.source


def test_a_source_that_is_gone_is_said_to_be_gone(sources: RecordedSources, repaired: str) -> None:
    gone: list[tuple[SourceKind, Any]] = [
        (SourceKind.BASELINE, f"{ARN}#{'0' * 64}"),
        (SourceKind.TRAIL_EVENT, str(uuid4())),
        (SourceKind.FUNCTION_VERSION, f"{ARN.rpartition(':')[0]}:{repaired}:99"),
        (SourceKind.ALIAS_TARGET, f"{ARN.rpartition(':')[0]}:{repaired}:live#3"),
    ]
    for kind, reference in gone:
        with pytest.raises(NotFound):
            sources.reread(ArgumentSource(kind=kind, reference=reference, sha256="0" * 64))


def test_a_node_has_no_sources_where_nodes_are_not_repaired(sources: RecordedSources) -> None:
    from affidavit.evidence.incident_subject import Subject, SubjectKind

    assert sources.about(Subject(kind=SubjectKind.NODE, id="i-0123456789abcdef0"), before=MORNING) == []
