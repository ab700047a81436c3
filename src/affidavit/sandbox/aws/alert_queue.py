"""Alerts wait in a queue behind the topic until somebody takes them, as they wait for a Lambda function in AWS.

The emulator can also call a web address, but only once: an alert that came while nobody listened would be lost.
"""

import json
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from affidavit.sandbox.aws.resources import Account

QUEUE = "incident-alerts"
# How long Lambda lets one run take, and how often it tries a failing one in all.
RUN_SECONDS = 300
MOST_TRIES = 3
RETRY_SECONDS = 5
HIDDEN_SECONDS = RUN_SECONDS + 30
WAIT_SECONDS = 1
AT_ONCE = 4

Handle = Callable[[dict[str, Any]], object]
log = logging.getLogger(__name__)


def make_queue(account: Account, topic_arn: str) -> str:
    """The queue's address. What is published to the topic from now on lands in it."""
    sqs = account.client("sqs")
    url: str = sqs.create_queue(QueueName=QUEUE, Attributes={"VisibilityTimeout": str(HIDDEN_SECONDS)})["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(_from_topic(arn, topic_arn))})
    account.client("sns").subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=arn)
    return url


def _from_topic(queue_arn: str, topic_arn: str) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Service": "sns.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}},
            }
        ],
    }


def take_alerts(sqs: Any, url: str, handle: Handle, *, goes_on: Callable[[], bool]) -> None:
    """Hands each alert to `handle` as SNS hands it to Lambda. One that fails comes again, three times in all."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while goes_on():
            asked = sqs.receive_message(
                QueueUrl=url,
                WaitTimeSeconds=WAIT_SECONDS,
                MaxNumberOfMessages=AT_ONCE,
                AttributeNames=["ApproximateReceiveCount"],
            )
            for message in asked.get("Messages", ()):
                pool.submit(_take, sqs, url, message, handle)


def _take(sqs: Any, url: str, message: dict[str, Any], handle: Handle) -> None:
    receipt, tries = message["ReceiptHandle"], int(message["Attributes"]["ApproximateReceiveCount"])
    try:
        handle({"Records": [{"EventSource": "aws:sns", "Sns": json.loads(message["Body"])}]})
    except Exception:  # the door of this worker: whatever failed is told, and tried again
        log.exception("alert %s failed, try %d of %d", message["MessageId"], tries, MOST_TRIES)
        if tries < MOST_TRIES:
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=RETRY_SECONDS)
            return
    sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
