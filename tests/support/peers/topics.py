"""A subscriber to a topic: what people would get."""

import json
import time
import uuid
from dataclasses import dataclass
from typing import Any

from affidavit.sandbox.sandbox import Sandbox


@dataclass(frozen=True, kw_only=True)
class Subscriber:
    sandbox: Sandbox
    queue_url: str

    def received(self, *, of: str = "", seconds: float = 20) -> dict[str, Any]:
        """The next message whose text holds `of`."""
        sqs, until = self.sandbox.client("sqs"), time.monotonic() + seconds
        while time.monotonic() < until:
            for message in sqs.receive_message(QueueUrl=self.queue_url, WaitTimeSeconds=1).get("Messages", []):
                sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])
                notice = json.loads(message["Body"])
                if of in notice["Message"]:
                    return notice
        raise AssertionError(f"nobody was told of {of!r}")


def subscribed(sandbox: Sandbox, topic_arn: str) -> Subscriber:
    sqs = sandbox.client("sqs")
    queue = sqs.create_queue(QueueName=uuid.uuid4().hex)["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    # As in AWS, a topic may write to a queue only if the queue says so.
    open_to_all = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": arn}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [open_to_all]})
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": policy})
    sandbox.client("sns").subscribe(TopicArn=topic_arn, Protocol="sqs", Endpoint=arn)
    return Subscriber(sandbox=sandbox, queue_url=queue)
