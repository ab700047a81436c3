"""An archive landed in the bucket: index it. SQS carries S3's events, each at least once."""

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_plus

from affidavit.errors import AffidavitError, InvariantBroken, UpstreamFailed

# Reading the engine takes longer than the start of a function may; the first bundle needs it, a test event does not.
if TYPE_CHECKING:
    from affidavit.adapters.aws.dead_letters import SqsDeadLetters
    from affidavit.nodes.library import Library
    from affidavit.settings import Settings

_LOG = logging.getLogger()
# What we store ourselves may look like an archive, too: a node keeps archives among its files.
_OURS = ("/extracted/", "/bundles/")


@dataclass(frozen=True, kw_only=True)
class Intake:
    library: "Library"
    dead_letters: "SqsDeadLetters | None"


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """What may go well the next time is handed back to the queue; what cannot is kept with its reason."""
    failed = [record["messageId"] for record in event.get("Records", ()) if not _is_done(record)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def uploaded_keys(body: str) -> Iterator[str]:
    """Of one message. S3 also sends a test event, which names no object."""
    message: Mapping[str, Any] = json.loads(body)
    for record in message.get("Records", ()):
        key = unquote_plus(record["s3"]["object"]["key"])
        if not any(part in key for part in _OURS):
            yield key


def _is_done(record: Mapping[str, Any]) -> bool:
    try:
        for key in uploaded_keys(record["body"]):
            _index(key, record["body"])
    except Exception:  # noqa: BLE001 - the door: the queue tries again, and after some times it keeps the message
        _LOG.exception("message %s could not be handled", record.get("messageId"))
        return False
    return True


def _index(key: str, message: str) -> None:
    from affidavit.fleet.publish import publish
    from affidavit.investigation import analyze
    from affidavit.nodes.ingest import ingest

    intake = application()
    try:
        # The archive lies in the bucket already: a copy would be announced as another upload.
        ingested = ingest(key, intake.library, analyze=analyze, keeps_archive=False)
        publish(intake.library, ingested.marker)
    except AffidavitError as error:
        if _is_worth_another_try(error) or intake.dead_letters is None:
            raise
        _tell("bundle_refused", key=key, reason=str(error), hint=error.hint)
        intake.dead_letters.keep(message, source=key, error=error)
        return
    marker = ingested.marker
    _tell("bundle_indexed", key=key, instance=marker.instance_id, index=marker.index_id, is_new=ingested.is_new)


def _is_worth_another_try(error: AffidavitError) -> bool:
    return isinstance(error, InvariantBroken) or (isinstance(error, UpstreamFailed) and error.is_retryable)


def _tell(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


@cache
def application() -> Intake:
    from affidavit.bootstrap import build_app
    from affidavit.knowledge import load_knowledge
    from affidavit.nodes.library import Library
    from affidavit.settings import Settings

    app = build_app(Settings.from_environment())
    library = Library(
        objects=app.objects,
        state=app.state,
        clock=app.clock,
        knowledge=load_knowledge(),
        directory=app.directory,
        region=app.settings.region,
    )
    return Intake(library=library, dead_letters=_dead_letters(app.settings))


def _dead_letters(settings: "Settings") -> "SqsDeadLetters | None":
    if not settings.dead_letter_queue_url:
        return None
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.dead_letters import SqsDeadLetters

    return SqsDeadLetters(AwsClients(settings.region), settings.dead_letter_queue_url)
