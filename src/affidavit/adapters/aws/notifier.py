"""Tells people through an SNS topic."""

import hashlib

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.incidents.notices.plain_text import plain_text
from affidavit.ports.notice_record import Notice

MOST_SUBJECT = 100
# SNS takes 256 KiB, and counts the attributes, too.
MOST_BYTES = 255 * 1024
_CUT = "\n… cut here: the message was too long for SNS; the whole text is with the incident"


class SnsNotifier:
    def __init__(self, clients: AwsClients, topic_arn: str) -> None:
        self._clients, self._topic_arn = clients, topic_arn

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        self.publish(notice.title, plain_text(notice), key=notice.key)
        return ""

    def publish(self, subject: str, message: str, *, key: str) -> None:
        with translated("notice to people"):
            self._clients.client("sns").publish(
                TopicArn=self._topic_arn,
                Subject=_subject(subject),
                Message=_fitting(message),
                MessageAttributes={"notice_key": {"DataType": "String", "StringValue": key}},
                **_order(self._topic_arn, key),
            )


def _order(topic_arn: str, key: str) -> dict[str, str]:
    """A FIFO topic drops what comes twice within five minutes by itself."""
    if not topic_arn.endswith(".fifo"):
        return {}
    return {"MessageGroupId": "affidavit", "MessageDeduplicationId": hashlib.sha256(key.encode()).hexdigest()}


def _subject(subject: str) -> str:
    """SNS takes one line of printable ASCII."""
    plain = " ".join(subject.split()).encode("ascii", "replace").decode()
    printable = "".join(char if char.isprintable() else "?" for char in plain)
    return printable if len(printable) <= MOST_SUBJECT else f"{printable[: MOST_SUBJECT - 3]}..."


def _fitting(message: str) -> str:
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= MOST_BYTES:
        return encoded.decode()
    return encoded[: MOST_BYTES - len(_CUT.encode())].decode("utf-8", "ignore") + _CUT
