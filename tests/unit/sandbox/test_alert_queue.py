"""Alerts behind a topic, on the emulator: each is taken, a failing one three times, and none harms another."""

import json
import time
import uuid
from typing import Any

import pytest

from affidavit.sandbox.aws import alert_queue
from affidavit.sandbox.sandbox import Sandbox


def test_a_failing_alert_comes_three_times_and_then_no_more_and_others_are_taken_once(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(alert_queue, "RETRY_SECONDS", 0)
    monkeypatch.setattr(alert_queue, "QUEUE", f"alerts-{uuid.uuid4().hex[:8]}")
    sns = sandbox.client("sns")
    topic = sns.create_topic(Name=f"topic-{uuid.uuid4().hex[:8]}")["TopicArn"]
    url = alert_queue.make_queue(sandbox.account, topic)
    for text in ("good", "bad", "also good"):
        sns.publish(TopicArn=topic, Message=text)
    taken: list[str] = []

    def handle(event: dict[str, Any]) -> None:
        (record,) = event["Records"]
        assert record["Sns"]["TopicArn"] == topic
        taken.append(record["Sns"]["Message"])
        if record["Sns"]["Message"] == "bad":
            raise ValueError("as often as it comes")

    until = time.monotonic() + 20
    # Two looks more than needed: who came a fourth time would be seen.
    looks = iter(range(2))
    sqs = sandbox.client("sqs")
    alert_queue.take_alerts(
        sqs,
        url,
        handle,
        goes_on=lambda: time.monotonic() < until and (len(taken) < 5 or next(looks, None) is not None),
    )
    assert sorted(taken) == ["also good", "bad", "bad", "bad", "good"]
    attributes = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    left = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=attributes)["Attributes"]
    assert {name: int(left[name]) for name in attributes} == dict.fromkeys(attributes, 0), json.dumps(left)
