"""Redacts an exported incident so that what verified before still verifies, and nothing else does.

A quote is a part of an answer. Hidden on its own, it may lose more or less than the answer does, and then points at
nothing. So quotes are held against the answers of before and of after, and rewritten where they must be.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import ValidationError

from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.incidents.attempt.answer_ledger import Entry
from affidavit.ports.json import JsonValue
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.verification.pointer_check import verify_pointer
from affidavit.verification.pointer_lookup import Located, locate

# What a quote grows to at most when it must become the whole text around it.
LONGEST_REWRITTEN = 10_000
NOT_RECORDED = "[REDACTED:not_recorded]"


class ConsistentRedaction:
    """Of submissions and of the diagnosis. `notes` say what was changed beyond hiding secrets, or could not be kept."""

    def __init__(
        self, before: Sequence[Entry], after: Sequence[Entry], redactor: Redactor, source: ByteSource | None = None
    ) -> None:
        """`source` re-reads quoted log lines."""
        self._before, self._after, self._redactor, self._source = before, after, redactor, source
        self.notes: list[str] = []

    def text(self, text: str) -> str:
        return self._redactor.redact(text).text

    def arguments(self, given: Mapping[str, Any], place: str) -> dict[str, Any]:
        """Of a tool call, or the fields of a diagnosis; `place` names it in notes."""
        told = redact_answer(cast("Mapping[str, JsonValue]", given), self._redactor)[0]
        claims, redacted = given.get("evidence"), told.get("evidence")
        if not isinstance(claims, list) or not isinstance(redacted, list):
            return dict(told)
        pairs = zip(cast("list[Any]", claims), redacted, strict=True)
        return {**told, "evidence": [self._claim(*pair, f"{place}: evidence[{n}]") for n, pair in enumerate(pairs)]}

    def _claim(self, claim: Any, redacted: Any, place: str) -> Any:
        try:
            before, after = (EvidencePointer.model_validate(one) for one in (claim, redacted))
        except ValidationError:
            return redacted
        # The names of fields are not redacted, so the place stays what it was.
        after = after.model_copy(update={"field": before.field})
        return {**redacted, "field": before.field, "value": self._value(before, after, place)}

    def _value(self, before: EvidencePointer, after: EvidencePointer, place: str) -> JsonValue:
        if not self._holds(before, self._before):
            return self._untrue(after, place)
        for value in (before.value, after.value):
            if self._holds(after.model_copy(update={"value": value}), self._after):
                return value
        there = self._text_at(before)
        if there is None:
            self.notes.append(f"{place}: its value was redacted, and no longer points at what was recorded")
            return after.value
        self.notes.append(
            f"{place}: its quote cut something secret in two; it now quotes the whole redacted text there"
        )
        return there

    def _untrue(self, after: EvidencePointer, place: str) -> JsonValue:
        """What was made up may not become true because a secret and another one look alike when they are hidden."""
        if not self._holds(after, self._after):
            return after.value
        self.notes.append(f"{place}: it was not what was recorded, and would look so after redaction; it was replaced")
        return NOT_RECORDED

    def _text_at(self, pointer: EvidencePointer) -> str | None:
        """What stands now where the quote was taken from, in the answer that it was taken from."""
        for before, after in zip(reversed(self._before), reversed(self._after), strict=True):
            if before.tool == pointer.tool and self._holds(pointer, [before]):
                found = locate(pointer.field, after.answer)
                value = found.value if isinstance(found, Located) else None
                return value if isinstance(value, str) and len(value) <= LONGEST_REWRITTEN else None
        return None

    def _holds(self, pointer: EvidencePointer, entries: Sequence[Entry]) -> bool:
        return verify_pointer(0, pointer, entries, self._source).holds
