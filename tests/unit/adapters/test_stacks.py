"""Change sets on the sandbox's CloudFormation; what it never refuses is put into its answer."""

import uuid
from typing import Any

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.deploy.stacks import Stacks
from affidavit.errors import InputRefused, UpstreamFailed

TEMPLATE = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "one"}}}}
OTHER = {"Resources": {"Topic": {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": "two"}}}}
REASON = "Transform AWS::Nothing failed"


@pytest.fixture
def clients(aws_environment: dict[str, str]) -> AwsClients:
    return AwsClients(aws_environment["AWS_REGION"])


@pytest.fixture
def stack() -> str:
    return f"stack-{uuid.uuid4().hex}"


def refuse(clients: AwsClients) -> None:
    def fail(parsed: dict[str, Any], **_: object) -> None:
        parsed.update(Status="FAILED", StatusReason=REASON)

    clients.client("cloudformation").meta.events.register("after-call.cloudformation.DescribeChangeSet", fail)


def test_a_refused_change_set_of_a_new_stack_leaves_neither_it_nor_the_stack(clients: AwsClients, stack: str) -> None:
    refuse(clients)
    stacks = Stacks(clients)
    with pytest.raises(InputRefused, match=REASON):
        stacks.propose(stack, TEMPLATE, {})
    assert stacks.status(stack) in (None, "DELETE_COMPLETE")


def test_a_refused_change_set_leaves_a_stack_as_it_was(clients: AwsClients, stack: str) -> None:
    stacks = Stacks(clients)
    stacks.execute(stacks.propose(stack, TEMPLATE, {}))
    refuse(clients)
    with pytest.raises(InputRefused, match=REASON):
        stacks.propose(stack, OTHER, {})
    left = clients.client("cloudformation").list_change_sets(StackName=stack)["Summaries"]
    assert [each for each in left if each["ExecutionStatus"] != "EXECUTE_COMPLETE"] == []
    assert stacks.status(stack) == "CREATE_COMPLETE"


def test_what_cannot_be_taken_back_is_named_with_the_reason_it_was_refused_for(clients: AwsClients, stack: str) -> None:
    refuse(clients)

    def deny(**_: object) -> None:
        raise UpstreamFailed("not allowed")

    clients.client("cloudformation").meta.events.register("before-call.cloudformation.DeleteChangeSet", deny)
    with pytest.raises(UpstreamFailed, match=f"{REASON}.* of {stack} is left behind .not allowed"):
        Stacks(clients).propose(stack, TEMPLATE, {})
