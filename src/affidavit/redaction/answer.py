"""Redaction of a whole answer, at the place where it leaves for a person or a chat model.

Ids, digests, byte ranges and page tokens stay as they are, so that evidence still verifies against the stored bytes.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from affidavit.ports import JsonValue
from affidavit.redaction.inquiry import Reply
from affidavit.redaction.redact import Redacted, Redactor, hide_entities

Change: TypeAlias = Callable[[str, str], str]

WITHHELD = "[WITHHELD: redaction failed]"

# Made by us, never text of a log: hiding part of one would break the next call.
_OPAQUE = frozenset(
    {
        *("sha256", "md5", "expected_md5", "actual_md5", "archive_sha256", "archive_md5"),
        *("finding_id", "finding_ids", "index_id", "bundle_id", "search_id", "cluster_id", "pageToken"),
        *("next_page_token", "instanceId", "instance_id", "executionId", "taskId", "batchId", "url", "link"),
        *("input_hash", "output_hash", "presignedUrl", "idempotencyKey", "severity", "state", "schema_version"),
    }
)
# They lead somewhere, so personal data in them stays; a secret does not.
_NAMES = frozenset(
    {
        *("file", "source_file", "full_key", "logKey", "key", "path", "files", "missing_files"),
        *("pattern", "component", "source", "region", "lambda_name", "log_group"),
    }
)


@dataclass(kw_only=True)
class Tally:
    """`withheld` counts texts by the field they stood in and why they could not be redacted."""

    counts: Counter[str] = field(default_factory=Counter[str])
    withheld: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])

    @property
    def gaps(self) -> list[str]:
        return [_gap(name, why, count) for (name, why), count in self.withheld.items()]


def _gap(name: str, why: str, count: int) -> str:
    if count == 1:
        return f"a text in `{name}` was withheld because it could not be redacted: {why}"
    return f"{count} texts in `{name}` were withheld because they could not be redacted: {why}"


def redact_answer(answer: Mapping[str, JsonValue], redactor: Redactor) -> tuple[dict[str, JsonValue], Tally]:
    tally = Tally()
    known = _changed(answer, lambda name, text: _known(name, text, redactor, tally))
    if not redactor.hides_personal or redactor.inquiry is None:
        return known, tally
    replies = redactor.inquiry.ask(_askable(known))
    return _changed(known, lambda name, text: _told(name, text, replies, tally)), tally


def _changed(answer: Mapping[str, JsonValue], change: Change) -> dict[str, JsonValue]:
    return {name: _value(name, value, change) for name, value in answer.items()}


def _value(name: str, value: JsonValue, change: Change) -> JsonValue:
    if isinstance(value, str):
        return value if name in _OPAQUE else change(name, value)
    # The plain types first: asking whether a value is any mapping takes longer than all the rest.
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, (dict, Mapping)):
        return {key: _value(key, each, change) for key, each in value.items()}
    return [_value(name, each, change) for each in value]


def _known(name: str, text: str, redactor: Redactor, tally: Tally) -> str:
    return _counted(redactor.secrets(text) if name in _NAMES else redactor.known(text), tally)


def _askable(answer: Mapping[str, JsonValue]) -> list[str]:
    found: list[str] = []

    def note(name: str, text: str) -> str:
        if name not in _NAMES:
            found.append(text)
        return text

    _changed(answer, note)
    return found


def _told(name: str, text: str, replies: Mapping[str, Reply], tally: Tally) -> str:
    if name in _NAMES:
        return text
    reply = replies[text]
    if reply.failure is not None:
        tally.withheld[name, str(reply.failure)] += 1
        return WITHHELD
    return _counted(hide_entities(text, reply.entities), tally)


def _counted(redacted: Redacted, tally: Tally) -> str:
    if redacted.counts:
        tally.counts.update(redacted.counts)
    return redacted.text
