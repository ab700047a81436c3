"""Dead letters go back to their queue through the real credentials, so many a second, and only they."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from tests.support.repairing.remediation import a_document, a_subject
from tests.support.repairing.repaired_function import make_function
from tests.support.repairing.repairs import BOB, Workshop, a_workshop

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.errors import UpstreamFailed
from affidavit.known_good.function_state_reading import read_state
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import Grant
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.plan_record import OnFailedProof
from affidavit.remediation.plan.seal import typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.review.action_matches_source import beyond_source
from affidavit.sandbox.sandbox import Sandbox

KIND = action_type("sqs.redrive")


class Letters:
    """A function fed by a queue whose dead letters wait."""

    def __init__(self, sandbox: Sandbox, workshop: Workshop, count: int) -> None:
        self.sqs, self.workshop, self.name = sandbox.client("sqs"), workshop, f"orders-{uuid4().hex[:8]}"
        make_function(sandbox, self.name)
        self.dead_url, self.dead = self._queue(f"{self.name}-dead")
        policy = json.dumps({"deadLetterTargetArn": self.dead, "maxReceiveCount": 1})
        self.url, self.queue = self._queue(self.name, RedrivePolicy=policy)
        sandbox.client("lambda").create_event_source_mapping(
            FunctionName=self.name, EventSourceArn=self.queue, Enabled=False
        )
        for number in range(count):
            self.sqs.send_message(QueueUrl=self.dead_url, MessageBody=f"order {number}")

    def _queue(self, name: str, **attributes: str) -> tuple[str, str]:
        url = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return url, self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]

    def waiting(self, url: str) -> int:
        names = ["ApproximateNumberOfMessages"]
        return int(self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"][names[0]])

    def baseline(self, region: str) -> SourceDocument:
        state = read_state(AwsStateInspector(AwsClients(region)), self.name, digest_key=b"k" * 32)
        return a_document(SourceKind.BASELINE, json.loads(state.data))


@pytest.fixture
def letters(tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str]) -> Letters:
    return Letters(sandbox, a_workshop(tmp_path, sandbox), count=3)


def test_dead_letters_go_back_once_two_people_approved(letters: Letters, sandbox: Sandbox) -> None:
    workshop, good = letters.workshop, letters.baseline(sandbox.region)
    workshop.read_back_seconds = 30
    (aim,) = KIND.aims(a_subject(letters.name), good, workshop.reader)
    assert (aim.target, aim.arguments["destination"]) == (letters.dead, letters.queue)
    live = KIND.read(aim, workshop.reader)
    assert KIND.problems(aim, live, workshop.reader) == []
    action = workshop.action(KIND.name, aim.target, aim.arguments)
    assert action.undo is None
    assert list(beyond_source(replace(action, source=good.source), good)) == []
    plan = workshop.plan(action, needed_approvals=2, on_failed_proof=OnFailedProof.HAND_OVER)
    row = workshop.approved(plan)
    assert row.phase is Phase.AWAITING
    workshop.approvals.approve(row.plan_id, BOB, typed=typed_part(row.seal))
    assert workshop.executor.run(plan.plan_id).phase is Phase.PROVEN
    assert (letters.waiting(letters.dead_url), letters.waiting(letters.url)) == (0, 3)
    assert KIND.aims(a_subject(letters.name), good, workshop.reader) == []
    assert workshop.executor.undo(plan.plan_id, "alice").phase is Phase.UNDO_FAILED


def test_only_the_dead_letters_of_the_queue_that_feeds_it_go_back_and_slowly(letters: Letters) -> None:
    workshop = letters.workshop

    def problems(**changes: Any) -> str:
        arguments = {"destination": letters.queue, "per_second": 10, **changes}
        aim = Aim(target=changes.pop("target", letters.dead), arguments=arguments)
        return " ".join(KIND.problems(aim, KIND.read(aim, workshop.reader), workshop.reader))

    assert "not the dead-letter queue" in problems(destination=letters.dead)
    assert "at most 10" in problems(per_second=500)
    (call,) = KIND.calls(Aim(target=letters.dead, arguments={"destination": letters.queue, "per_second": 1}), None)
    changer = workshop.door.open(Grant(calls=(call,), source_identity="alice", session_name="plan-1"))
    with pytest.raises(UpstreamFailed, match="may not call"):
        changer.call(replace(call, parameters={**call.parameters, "SourceArn": letters.queue}))
    started = time.monotonic()
    changer.call(call)
    assert problems() == "messages are being moved already"
    (task,) = letters.sqs.list_message_move_tasks(SourceArn=letters.dead)["Results"]
    assert (task["Status"], task["MaxNumberOfMessagesPerSecond"]) == ("RUNNING", 1)
    letters.sqs.cancel_message_move_task(TaskHandle=task["TaskHandle"])
    moved = 3 - letters.waiting(letters.dead_url)
    assert 0 < moved <= 1 + (time.monotonic() - started), "one a second"
    with pytest.raises(ClientError, match="Dead Letter Queue"):
        letters.sqs.start_message_move_task(SourceArn=letters.queue)
