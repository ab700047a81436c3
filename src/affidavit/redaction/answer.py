"""Redaction of a whole answer, at the place where it leaves for a person or a chat model.

Ids, digests, byte ranges and page tokens stay as they are, so that evidence still verifies against the stored bytes.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from affidavit.errors import AffidavitError
from affidavit.ports import JsonValue
from affidavit.redaction.redact import Redacted, Redactor

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
    counts: Counter[str] = field(default_factory=Counter[str])
    gaps: list[str] = field(default_factory=list[str])


def redact_answer(answer: Mapping[str, JsonValue], redactor: Redactor) -> tuple[dict[str, JsonValue], Tally]:
    tally = Tally()
    return {name: _value(name, value, redactor, tally) for name, value in answer.items()}, tally


def _value(name: str, value: JsonValue, redactor: Redactor, tally: Tally) -> JsonValue:
    if isinstance(value, str):
        return value if name in _OPAQUE else _text(name, value, redactor, tally)
    # The plain types first: asking whether a value is any mapping takes longer than all the rest.
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, (dict, Mapping)):
        return {key: _value(key, each, redactor, tally) for key, each in value.items()}
    return [_value(name, each, redactor, tally) for each in value]


def _text(name: str, text: str, redactor: Redactor, tally: Tally) -> str:
    try:
        redacted = redactor.secrets(text) if name in _NAMES else redactor.redact(text)
    except AffidavitError as error:
        tally.gaps.append(f"a text in `{name}` was withheld because it could not be redacted: {error}")
        return WITHHELD
    return _counted(redacted, tally)


def _counted(redacted: Redacted, tally: Tally) -> str:
    if redacted.counts:
        tally.counts.update(redacted.counts)
    return redacted.text
