"""Sends messages that cannot be handled to a queue, each with the reason."""

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import AffidavitError

# SQS takes 256 KiB in all; a reason longer than this helps nobody.
MOST_REASON = 2000


class SqsDeadLetters:
    def __init__(self, clients: AwsClients, queue_url: str) -> None:
        self._clients, self._queue_url = clients, queue_url

    def keep(self, message: str, *, source: str, error: AffidavitError) -> None:
        said = {"source": source, "reason": str(error), "hint": error.hint, "kind": type(error).__name__}
        attributes = {
            name: {"DataType": "String", "StringValue": _printable(value)} for name, value in said.items() if value
        }
        with translated("dead letters of uploads"):
            self._clients.client("sqs").send_message(
                QueueUrl=self._queue_url, MessageBody=message, MessageAttributes=attributes
            )


def _printable(text: str) -> str:
    """SQS refuses control characters, and a name inside an archive may hold any."""
    return "".join(char if char.isprintable() else "?" for char in text)[:MOST_REASON]
