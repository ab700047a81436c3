"""What the recorded answers of a node's incident show, for `evaluate`: the verdict on its bundle, and whose it is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from affidavit.evidence.diagnosis import EvidencePointer, FaultType
from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry
from affidavit.verification.pointer_lookup import Located, locate

TRIAGE, EVIDENCE = "quick_triage", "node_evidence"


@dataclass(frozen=True)
class NodeFacts:
    entries: tuple[Entry, ...]

    @cached_property
    def triage(self) -> Mapping[str, Any]:
        return self._newest(TRIAGE)

    @cached_property
    def chosen(self) -> Mapping[str, Any]:
        """Which bundle the incident rests on; empty when nobody recorded it."""
        return self._newest(EVIDENCE)

    @property
    def is_of_known_origin(self) -> bool:
        """The node made the bundle, as a collection of ours shows, or the person who asks vouches for it."""
        return not self.chosen or any(self.chosen.get(name) is True for name in ("origin_proven", "given"))

    @property
    def verdict(self) -> Mapping[str, Any]:
        return cast("Mapping[str, Any]", self.triage.get("verdict") or {})

    @property
    def causes(self) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", self.verdict.get("root_causes") or ())

    @property
    def open_causes(self) -> list[Mapping[str, Any]]:
        return [cause for cause in self.causes if cause.get("still_open")]

    @property
    def unexplained(self) -> Sequence[Mapping[str, Any]]:
        return cast("Sequence[Mapping[str, Any]]", self.verdict.get("unexplained") or ())

    def of_kind(self, fault: FaultType) -> list[Mapping[str, Any]]:
        """The verdict's causes of this kind. An older, general name stands for each of them."""
        return [one for one in self.causes if fault in (one.get("fault_type"), FaultType.NODE_FAULT)]

    def shows(self, pointer: EvidencePointer, fault: FaultType) -> bool:
        """Whether it cites a line of a finding that the verdict names as this cause."""
        wanted = {str(one) for cause in self.of_kind(fault) for one in cause.get("evidence") or ()}
        return any(found in wanted for found in self._cited(pointer))

    def _cited(self, pointer: EvidencePointer) -> Iterator[str]:
        """Ids of findings that the pointer is inside of, in answers about the bundle of the verdict."""
        for entry in self.entries:
            answer = entry.answer
            if entry.tool != pointer.tool or not isinstance(answer, Mapping):
                continue
            located = locate(pointer.field, answer)
            if isinstance(located, Located) and answer.get("index_id") == self.triage.get("index_id"):
                yield from _ids(located.path)

    def _newest(self, tool: str) -> Mapping[str, Any]:
        for entry in reversed(self.entries):
            if entry.tool == tool and isinstance(entry.answer, Mapping) and not entry.answer.get("error"):
                return cast("Mapping[str, Any]", entry.answer)
        return {}


def _ids(path: Sequence[JsonValue]) -> Iterator[str]:
    for around in path:
        if isinstance(around, Mapping) and isinstance(around.get("finding_id"), str) and "evidence" in around:
            yield str(around["finding_id"])
