"""One recorded answer of a tool, under a digest that a later reader can check."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from affidavit.errors import EvidenceUnavailable
from affidavit.ports.json import JsonValue
from affidavit.verification.canonical_json import digest


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """`sha256` is the digest of tool, arguments and answer together; the id is the place in its ledger."""

    entry_id: str
    tool: str
    arguments: Mapping[str, JsonValue]
    answer: JsonValue
    sha256: str

    def as_json(self) -> dict[str, JsonValue]:
        return {
            "entry_id": self.entry_id,
            "tool": self.tool,
            "arguments": self.arguments,
            "answer": self.answer,
            "sha256": self.sha256,
        }


def make_entry(entry_id: str, tool: str, arguments: Mapping[str, JsonValue], answer: JsonValue) -> Entry:
    sha256 = digest({"tool": tool, "arguments": arguments, "answer": answer})
    return Entry(entry_id=entry_id, tool=tool, arguments=arguments, answer=answer, sha256=sha256)


def entry_from_json(raw: bytes | str) -> Entry:
    """Raises EvidenceUnavailable when the answer is not the one that was recorded."""
    try:
        # Not `validate_json`: a log may hold half a surrogate pair, which Python's own reader keeps as it is.
        shape = _SHAPE.validate_python(json.loads(raw))
    except ValueError as error:
        raise EvidenceUnavailable(
            "a recorded answer cannot be read: it is not a ledger entry",
            hint="the stored investigation is damaged; run it again with `affidavit incident redrive`",
        ) from error
    entry = make_entry(shape["entry_id"], shape["tool"], shape["arguments"], shape["answer"])
    if entry.sha256 != shape["sha256"]:
        raise EvidenceUnavailable(
            f"recorded answer {shape['entry_id']} of {shape['tool']} was changed after it was recorded",
            hint="its digest does not match; trust nothing that cites it",
        )
    return entry


class _EntryShape(TypedDict):
    entry_id: str
    tool: str
    arguments: dict[str, Any]
    answer: Any
    sha256: str


_SHAPE = TypeAdapter(_EntryShape)
