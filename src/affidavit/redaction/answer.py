"""Redacts every text of an answer before it leaves for a person or a chat model.

Ids, digests, byte ranges and page tokens stay as they are, so that evidence still verifies against the stored bytes.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TypeAlias

from affidavit.evidence.finding import EXCERPT_CHARACTERS
from affidavit.ports.json import JsonValue
from affidavit.redaction.batched_detection import Reply
from affidavit.redaction.redact import ALONE, Around, Redacted, Redactor, hide_entities

Change: TypeAlias = Callable[[str, str, bool], str]
NOTHING: Mapping[str, Around] = MappingProxyType({})

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
# Numbers and times by the thousand, and no text.
_PLACES = frozenset({"additional_occurrences", "byte_offset", "line_range"})
# They lead somewhere, so personal data in them stays; a secret does not.
_NAMES = frozenset(
    {
        *("file", "source_file", "full_key", "logKey", "key", "path", "files", "missing_files"),
        *("pattern", "component", "source", "region", "lambda_name", "log_group"),
    }
)


@dataclass(kw_only=True)
class RedactionTally:
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


def redact_answer(
    answer: Mapping[str, JsonValue], redactor: Redactor, around: Mapping[str, Around] = NOTHING
) -> tuple[dict[str, JsonValue], RedactionTally]:
    """`around` says of a text where it was taken from. Whether it was cut is seen in the answer itself."""
    tally = RedactionTally()
    known = _changed(answer, _Known(redactor, tally, around))
    if not redactor.hides_personal or redactor.inquiry is None:
        return known, tally
    replies = redactor.inquiry.ask(_askable(known))
    return _changed(known, lambda name, text, _: _told(name, text, replies, tally)), tally


def _changed(answer: Mapping[str, JsonValue], change: Change) -> dict[str, JsonValue]:
    is_cut = bool(answer.get("omitted_characters"))
    return {name: _value(name, value, change, is_cut) for name, value in answer.items()}


def _value(name: str, value: JsonValue, change: Change, is_cut: bool) -> JsonValue:
    if name in _PLACES:
        return value
    if isinstance(value, str):
        return value if name in _OPAQUE else change(name, value, is_cut)
    # The plain types first: asking whether a value is any mapping takes longer than all the rest.
    if value is None or isinstance(value, int | float):
        return value
    if not isinstance(value, list) and isinstance(value, (dict, Mapping)):
        return _changed(value, change)
    return [_value(name, each, change, is_cut) for each in value]


@dataclass(frozen=True, slots=True)
class _Known:
    redactor: Redactor
    tally: RedactionTally
    around: Mapping[str, Around]

    def __call__(self, name: str, text: str, is_cut: bool) -> str:
        if name in _NAMES:
            return _counted(self.redactor.secrets(text), self.tally)
        return _counted(self.redactor.known(text, self._around(name, text, is_cut)), self.tally)

    def _around(self, name: str, text: str, is_cut: bool) -> Around:
        around = self.around.get(text, ALONE) if self.around else ALONE
        # An excerpt of full length may be the beginning of a longer line.
        if is_cut or (name == "excerpt" and len(text) >= EXCERPT_CHARACTERS):
            return replace(around, is_cut=True)
        return around


def _askable(answer: Mapping[str, JsonValue]) -> list[str]:
    found: list[str] = []

    def note(name: str, text: str, _: bool) -> str:
        if name not in _NAMES:
            found.append(text)
        return text

    _changed(answer, note)
    return found


def _told(name: str, text: str, replies: Mapping[str, Reply], tally: RedactionTally) -> str:
    if name in _NAMES:
        return text
    reply = replies[text]
    if reply.failure is not None:
        tally.withheld[name, str(reply.failure)] += 1
        return WITHHELD
    return _counted(hide_entities(text, reply.entities), tally)


def _counted(redacted: Redacted, tally: RedactionTally) -> str:
    if redacted.counts:
        tally.counts.update(redacted.counts)
    return redacted.text
