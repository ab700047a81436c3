"""`lambda.concurrency.restore` on the sandbox: what it proposes, refuses, does, and takes back."""

from collections.abc import Iterator
from dataclasses import replace
from uuid import uuid4

import pytest
from tests.support.repairing.remediation import a_document, a_subject

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.remediation.least_privilege_calls import AssumedRoleDoor
from affidavit.adapters.aws.remediation.state_reader import AwsStateReader
from affidavit.errors import InvariantBroken, UpstreamFailed
from affidavit.ports.argument_sources import SourceKind
from affidavit.ports.aws_reads_and_changes import Grant
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.sandbox.sandbox import Sandbox

TYPE = action_type("lambda.concurrency.restore")


@pytest.fixture
def reader(aws_environment: dict[str, str]) -> AwsStateReader:
    return AwsStateReader(AwsClients(aws_environment["AWS_REGION"]))


@pytest.fixture
def function(sandbox: Sandbox) -> Iterator[str]:
    from tests.support.repairing.repaired_function import make_function

    yield make_function(sandbox, f"orders-{uuid4().hex[:8]}")


@pytest.fixture
def door(sandbox: Sandbox, aws_environment: dict[str, str]) -> AssumedRoleDoor:
    from tests.support.repairing.repaired_function import executor_role

    return AssumedRoleDoor(AwsClients(aws_environment["AWS_REGION"]), executor_role(sandbox))


def reserve(sandbox: Sandbox, function: str, value: int | None) -> None:
    client = sandbox.client("lambda")
    if value is None:
        client.delete_function_concurrency(FunctionName=function)
    else:
        client.put_function_concurrency(FunctionName=function, ReservedConcurrentExecutions=value)


def test_the_source_gives_the_value_and_a_function_that_has_it_needs_nothing(sandbox, reader, function):
    event = {
        "eventName": "PutFunctionConcurrency20171031",
        "requestParameters": {"functionName": function, "reservedConcurrentExecutions": 7},
    }
    said = a_document(SourceKind.TRAIL_EVENT, event)
    reserve(sandbox, function, 0)
    (aim,) = TYPE.aims(a_subject(function), said, reader)
    assert aim.arguments == {"reserved": 7}
    reserve(sandbox, function, 7)
    assert TYPE.aims(a_subject(function), said, reader) == []


@pytest.mark.parametrize("before", [None, 0, 1, 12])
@pytest.mark.parametrize("wanted", [None, 3])
def test_calls_make_the_expected_state_and_the_undo_brings_back_what_was_there(
    sandbox, reader, function, door, before, wanted
):
    reserve(sandbox, function, before)
    aim = Aim(target=_arn(sandbox, function), arguments={"reserved": wanted})
    state = TYPE.read(aim, reader).state
    back = replace(aim, arguments=TYPE.undo(aim, state))
    for step, expected in ((aim, TYPE.expected(aim, state)), (back, state)):
        calls = TYPE.calls(step, None)
        changer = door.open(Grant(calls=calls, source_identity="alice", session_name="plan-1"))
        for call in calls:
            changer.call(call)
        assert TYPE.read(step, reader).state == expected


def test_too_few_unreserved_executions_are_a_problem(sandbox, reader, function):
    reserve(sandbox, function, 0)
    aim = Aim(target=_arn(sandbox, function), arguments={"reserved": 901})
    assert "fewer than 100" in TYPE.problems(aim, TYPE.read(aim, reader), reader)[0]
    aim = replace(aim, arguments={"reserved": 5})
    assert TYPE.problems(aim, TYPE.read(aim, reader), reader) == []


def test_the_credentials_open_nothing_but_the_granted_call(sandbox, reader, function, door):
    arn, other = _arn(sandbox, function), _arn(sandbox, "data-processor-of-somebody-else")
    granted = TYPE.calls(Aim(target=arn, arguments={"reserved": 5}), None)
    changer = door.open(Grant(calls=granted, source_identity="alice", session_name="plan-1"))
    for denied in (
        TYPE.calls(Aim(target=arn, arguments={"reserved": None}), None)[0],
        TYPE.calls(Aim(target=other, arguments={"reserved": 5}), None)[0],
    ):
        with pytest.raises(UpstreamFailed, match="may not call"):
            changer.call(denied)
    changer.call(granted[0])


def test_a_reader_refuses_to_write(reader, function):
    with pytest.raises(InvariantBroken):
        reader.read("lambda", "delete_function", FunctionName=function)


def _arn(sandbox: Sandbox, function: str) -> str:
    return f"arn:aws:lambda:{sandbox.region}:000000000000:function:{function}"
