"""A notice reaches whoever subscribed to the topic."""

import json
import uuid

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.notifier import MOST_BYTES, SnsNotifier
from affidavit.sandbox.laptop import Sandbox


def delivered(sandbox: Sandbox, subject: str, message: str) -> dict[str, str]:
    sns, sqs = sandbox.client("sns"), sandbox.client("sqs")
    name = uuid.uuid4().hex
    topic = sns.create_topic(Name=name)["TopicArn"]
    queue = sqs.create_queue(QueueName=name)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    # As in AWS, a topic may write to a queue only if the queue says so.
    open_to_all = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [open_to_all]})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    SnsNotifier(AwsClients(sandbox.region), topic).notify(subject, message)
    (received,) = sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"]
    return json.loads(received["Body"])


def test_subject_and_message_arrive(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    notice = delivered(sandbox, "incident 7", "node não responde")
    assert (notice["Subject"], notice["Message"]) == ("incident 7", "node não responde")


def test_a_subject_that_sns_would_refuse_is_made_to_fit(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    subject = delivered(sandbox, "line\nbreak é " + "x" * 200, "m")["Subject"]
    assert subject.startswith("line break ? xxx")
    assert len(subject) == 100
    assert subject.endswith("...")


def test_a_message_that_is_cut_says_so(sandbox: Sandbox, aws_environment: dict[str, str]) -> None:
    message = delivered(sandbox, "s", "é" * MOST_BYTES)["Message"]
    assert len(message.encode()) <= MOST_BYTES
    assert "cut here" in message
