"""A notice reaches whoever subscribed to the topic."""

import uuid
from typing import Any

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.notifier import MOST_BYTES, SnsNotifier
from affidavit.sandbox.sandbox import Sandbox
from tests.support.peers.topics import subscribed


def delivered(sandbox: Sandbox, subject: str, message: str) -> dict[str, Any]:
    topic = sandbox.client("sns").create_topic(Name=uuid.uuid4().hex)["TopicArn"]
    subscriber = subscribed(sandbox, topic)
    SnsNotifier(AwsClients(sandbox.region), topic).publish(subject, message, key="inc-7#2")
    return subscriber.received()


def test_subject_and_message_arrive(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    notice = delivered(sandbox, "incident 7", "node não responde")
    assert (notice["Subject"], notice["Message"]) == ("incident 7", "node não responde")
    assert notice["MessageAttributes"]["notice_key"]["Value"] == "inc-7#2"


def test_a_fifo_topic_takes_the_same_notice_once(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    sns, name = sandbox.client("sns"), f"{uuid.uuid4().hex}.fifo"
    topic = sns.create_topic(Name=name, Attributes={"FifoTopic": "true"})["TopicArn"]
    SnsNotifier(AwsClients(sandbox.region), topic).publish("s", "m", key="inc-7#2")


def test_a_subject_that_sns_would_refuse_is_made_to_fit(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    subject = delivered(sandbox, "line\nbreak é " + "x" * 200, "m")["Subject"]
    assert subject.startswith("line break ? xxx")
    assert len(subject) == 100
    assert subject.endswith("...")


def test_a_message_that_is_cut_says_so(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    message = delivered(sandbox, "s", "é" * MOST_BYTES)["Message"]
    assert len(message.encode()) <= MOST_BYTES
    assert "cut here" in message
