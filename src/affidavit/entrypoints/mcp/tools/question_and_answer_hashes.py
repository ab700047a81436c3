"""`_debug`: hashes of question and answer, so that a regression suite can tell whether anything changed."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from affidavit.ports.json import JsonValue

SCHEMA_VERSION = "1"
# Different in every call, or in every copy of the same evidence.
VOLATILE = frozenset({"_debug", "expires_at", "url", "search_id", "indexedAt", "indexed_at", "latency_ms"})


def envelope(
    tool: str,
    *,
    question: Mapping[str, JsonValue],
    answer: Mapping[str, JsonValue],
    seconds: float,
    is_deterministic: bool,
) -> dict[str, JsonValue]:
    return {
        "tool": tool,
        "input_hash": canonical_hash(question),
        "output_hash": canonical_hash(answer),
        "latency_ms": round(seconds * 1000, 3),
        "schema_version": SCHEMA_VERSION,
        "deterministic": is_deterministic,
    }


def canonical_hash(value: JsonValue) -> str:
    """Over JSON with sorted keys and nothing volatile: the order of keys and the moment change nothing."""
    text = json.dumps(_steady(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _steady(value: JsonValue) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _steady(each) for key, each in value.items() if key not in VOLATILE}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_steady(each) for each in value]
    return value
