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
    from affidavit.adapters.aws.bundle_ready_publisher import SnsBundleNews
    from affidavit.adapters.aws.dead_letter_sender import SqsDeadLetters
    from affidavit.nodes.ingest.store_bundle import Origin
    from affidavit.nodes.library.indexed_bundles import Library
    from affidavit.settings import Settings

_LOG = logging.getLogger()
# What we store ourselves may look like an archive, too: a node keeps archives among its files.
_OURS = ("/extracted/", "/bundles/")


@dataclass(frozen=True, kw_only=True)
class Intake:
    library: "Library"
    dead_letters: "SqsDeadLetters | None"
    most_bytes: int | None = None
    news: "SnsBundleNews | None" = None


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """What may go well the next time is handed back to the queue; what cannot is kept with its reason."""
    failed = [record["messageId"] for record in event.get("Records", ()) if not _is_done(record)]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


@dataclass(frozen=True, kw_only=True)
class UploadedObject:
    """`principal` is who wrote it, as S3 tells; empty where it does not."""

    key: str
    principal: str


def uploaded_objects(body: str) -> Iterator[UploadedObject]:
    """Of one message. S3 also sends a test event, which names no object."""
    message: Mapping[str, Any] = json.loads(body)
    for record in message.get("Records", ()):
        key = unquote_plus(record["s3"]["object"]["key"])
        if not any(part in key for part in _OURS):
            identity: Mapping[str, Any] = record.get("userIdentity") or {}
            yield UploadedObject(key=key, principal=str(identity.get("principalId") or ""))


def _is_done(record: Mapping[str, Any]) -> bool:
    try:
        for uploaded in uploaded_objects(record["body"]):
            _index(uploaded, record["body"])
    except Exception:  # noqa: BLE001 - the door: the queue tries again, and after some times it keeps the message
        _LOG.exception("message %s could not be handled", record.get("messageId"))
        return False
    return True


def _index(uploaded: UploadedObject, message: str) -> None:
    from affidavit.fleet.publish import publish
    from affidavit.investigation import analyze
    from affidavit.nodes.ingest.bundle_intake import ingest

    intake, key = application(), uploaded.key
    try:
        # The archive lies in the bucket already: a copy would be announced as another upload.
        ingested = ingest(
            key,
            intake.library,
            analyze=analyze,
            origin=_origin(uploaded, intake),
            keeps_archive=False,
            most_bytes=intake.most_bytes,
        )
        # Questions about many nodes are answered from what the nodes brought themselves.
        if not ingested.marker.is_unproven:
            publish(intake.library, ingested.marker)
    except AffidavitError as error:
        if _is_worth_another_try(error) or intake.dead_letters is None:
            raise
        _tell("bundle_refused", key=key, reason=str(error), hint=error.hint)
        intake.dead_letters.keep(message, source=key, error=error)
        return
    marker = ingested.marker
    told = {"instance": marker.instance_id, "index": marker.index_id, "is_new": ingested.is_new}
    _tell("bundle_indexed", key=key, **told, **({"doubt": marker.doubt} if marker.is_unproven else {}))
    _wake(marker.instance_id, intake)


def _origin(uploaded: UploadedObject, intake: Intake) -> "Origin":
    from affidavit.collection.rows import KnownExecution, execution_key
    from affidavit.nodes.ingest.store_bundle import Origin
    from affidavit.nodes.library.upload_origin import Uploader

    def node_of(execution_id: str) -> str | None:
        item = intake.library.state.get(execution_key(execution_id))
        return KnownExecution.of(item).instance_id if item is not None else None

    return Origin(uploader=Uploader(principal=uploaded.principal, node_of=node_of))


def _wake(instance_id: str, intake: Intake) -> None:
    """Incidents that wait for this bundle go on. The watchdog finds them, too, so a failure costs only minutes."""
    if intake.news is None:
        return
    try:
        intake.news.tell(instance_id)
    except AffidavitError as error:
        _tell("news_failed", instance=instance_id, reason=str(error), hint=error.hint)


def _is_worth_another_try(error: AffidavitError) -> bool:
    return isinstance(error, InvariantBroken) or (isinstance(error, UpstreamFailed) and error.is_retryable)


def _tell(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}, default=str), flush=True)


@cache
def application() -> Intake:
    from affidavit.bootstrap import build_app, build_library
    from affidavit.settings import Settings

    app = build_app(Settings.from_environment())
    return Intake(
        library=build_library(app),
        dead_letters=_dead_letters(app.settings),
        most_bytes=app.settings.max_upload_mib << 20,
        news=_news(app.settings),
    )


def _news(settings: "Settings") -> "SnsBundleNews | None":
    if not settings.incident_topic_arn:
        return None
    from affidavit.adapters.aws.bundle_ready_publisher import SnsBundleNews
    from affidavit.adapters.aws.clients import AwsClients

    return SnsBundleNews(AwsClients(settings.region), settings.incident_topic_arn)


def _dead_letters(settings: "Settings") -> "SqsDeadLetters | None":
    if not settings.dead_letter_queue_url:
        return None
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.dead_letter_sender import SqsDeadLetters

    return SqsDeadLetters(AwsClients(settings.region), settings.dead_letter_queue_url)
