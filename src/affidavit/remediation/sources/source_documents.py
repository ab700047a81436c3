"""Makes source documents out of what was recorded: pure, each with the digest a plan is sealed with."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from affidavit.known_good.state_assembly import mapping
from affidavit.known_good.store import KnownGood
from affidavit.ports.argument_sources import GOOD_VARIABLES, ArgumentSource, SourceDocument, SourceKind
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import PolicyVersion
from affidavit.remediation.plan.seal import sha256_of


def of_baseline(kept: KnownGood, document: Item) -> SourceDocument:
    return _made(SourceKind.BASELINE, f"{kept.function_arn}#{kept.sha256}", kept.captured_at, document)


def of_event(event: Item) -> SourceDocument:
    return _made(SourceKind.TRAIL_EVENT, str(event["eventID"]), moment(str(event["eventTime"])), _without_values(event))


# What Lambda reports of a version and changes by itself, as when nobody called it for long.
_PASSING = ("State", "LastUpdateStatus", "RevisionId")


def of_policy_version(arn: str, version: PolicyVersion, document: Item) -> SourceDocument:
    said: Item = {"policy_arn": arn, "version_id": version.version_id, "document": document}
    return _made(SourceKind.POLICY_VERSION, f"{arn}#{version.version_id}", moment(version.created_at), said)


def of_function_version(configuration: Item, *, has_good_variables: bool) -> SourceDocument:
    at = moment(str(configuration.get("LastModified")))
    lasting = {key: value for key, value in configuration.items() if not key.startswith(_PASSING)}
    said: Item = {**lasting, GOOD_VARIABLES: has_good_variables}
    return _made(SourceKind.FUNCTION_VERSION, str(configuration["FunctionArn"]), at, said)


def of_alias_event(event: Item, function_arn: str) -> SourceDocument | None:
    """What an UpdateAlias or CreateAlias call pointed the alias at; None for any other event."""
    request = mapping(event.get("requestParameters"))
    version = request.get("functionVersion", request.get("FunctionVersion"))
    alias_arn = f"{function_arn}:{request.get('name', request.get('Name'))}"
    if not str(event.get("eventName", "")).startswith(("UpdateAlias", "CreateAlias")) or version is None:
        return None
    said: Item = {
        "alias_arn": alias_arn,
        "function_version": version,
        "routing": request.get("routingConfig", request.get("RoutingConfig")),
    }
    return _made(SourceKind.ALIAS_TARGET, f"{alias_arn}#{version}", moment(str(event["eventTime"])), said)


def of_node(document: Item, *, at: datetime) -> SourceDocument:
    return _made(SourceKind.NODE, str(document["instance_id"]), at, document)


def in_order(found: Iterable[SourceDocument], *, before: datetime) -> Sequence[SourceDocument]:
    """Those of before that moment: most trusted first, of one kind the newest first, each once."""
    kept = {(one.source.kind, one.source.reference): one for one in found if one.at < before}
    newest = sorted(kept.values(), key=lambda one: one.at, reverse=True)
    return sorted(newest, key=lambda one: one.source.kind.trust)


def moment(text: str) -> datetime:
    """An aware time; CloudTrail and Lambda write zones in different ways."""
    parsed = datetime.fromisoformat(text.replace("+0000", "+00:00"))
    return parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=UTC)


def _made(kind: SourceKind, reference: str, at: datetime, document: Item) -> SourceDocument:
    source = ArgumentSource(kind=kind, reference=reference, sha256=sha256_of(document))
    return SourceDocument(source=source, at=at, document=document)


def _without_values(event: Item) -> Item:
    request = mapping(event.get("requestParameters"))
    cleaned = {key: value for key, value in request.items() if key.lower() != "environment"}
    return {**event, "requestParameters": cleaned} if request else event
