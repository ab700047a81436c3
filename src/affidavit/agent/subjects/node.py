"""A worker node as the subject of an incident: its tools, its prompt, its rules."""

import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel

from affidavit.agent.subjects.control_plane_in_diagnosis import NODE_STATE, answer_of, with_control_plane
from affidavit.agent.subjects.investigable import OutOfScope, Scope
from affidavit.agent.subjects.node_bundle_diagnosis import conclude
from affidavit.agent.subjects.node_prompt import PROMPT
from affidavit.agent.subjects.node_tools import (
    ANSWERS,
    COMPARE,
    DESCRIPTIONS,
    ERRORS,
    FILES,
    NETWORK,
    READ,
    REQUESTS,
    STORAGE,
    TRIAGE,
)
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.attempt.answers_cut_to_budget import Shrink
from affidavit.incidents.evidence.readiness import TOOL as EVIDENCE
from affidavit.incidents.incident import Incident
from affidavit.nodes.library.object_keys import instance_in
from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry

# Below what the chat model is shown of one answer, so that rules and chat model read the same.
_ANSWER_BYTES = 30_000
_TRIAGE_BYTES = 16_000
_FIRST = (
    (("network", "connect", "unreachable", "dns", "resolve", "eni", "address"), (TRIAGE, ERRORS, NETWORK)),
    (("disk", "storage", "volume", "inode", "filesystem"), (TRIAGE, ERRORS, STORAGE)),
)


class NodeInvestigable:
    kind: SubjectKind = SubjectKind.NODE
    toolset: str = "nodes"
    prompt: str = PROMPT
    argument_schemas: Mapping[str, type[BaseModel]] = REQUESTS
    answer_schemas: Mapping[str, type[BaseModel]] = ANSWERS
    descriptions: Mapping[str, str] = DESCRIPTIONS
    example_pointer: Mapping[str, JsonValue] = MappingProxyType(
        {
            "tool": ERRORS,
            "field": "/findings/0/evidence/excerpt",
            "value": "Out of memory: Killed process 4242 (java)",
            "interpretation": "The kernel killed a process for want of memory.",
        }
    )
    parts: Mapping[str, str] = MappingProxyType({"triage": TRIAGE, "findings": ERRORS})
    shrinks: Sequence[Shrink] = ()
    unprompted: Sequence[str] = (TRIAGE, ERRORS)

    def arguments(self, tool: str, subject_id: str) -> Mapping[str, JsonValue]:
        size = _TRIAGE_BYTES if tool == TRIAGE else _ANSWER_BYTES
        return {"instanceId": subject_id, "max_bytes": size}

    def subject_id(self, name: str) -> str:
        return name

    def scope(self, incident: Incident, entries: Sequence[Entry]) -> Scope:
        chosen = _chosen(entries)
        peers = cast("Sequence[str]", chosen.get("peers") or ())
        index_id = chosen.get("index_id")
        return Scope(
            ids=frozenset((incident.subject.id,)),
            peers=frozenset(map(str, peers)),
            index_id=str(index_id) if index_id else None,
        )

    def scoped(self, tool: str, given: Mapping[str, object], scope: Scope) -> Mapping[str, JsonValue]:
        asked = cast("Mapping[str, Any]", REQUESTS[tool].model_validate(given, by_alias=True, by_name=True))
        told = cast("Any", asked).model_dump(mode="json", by_alias=True, exclude_unset=True)
        self._check(tool, told, scope)
        if "index_id" in REQUESTS[tool].model_fields and scope.index_id is not None:
            # The bundle that the incident rests on: a later upload of somebody's must not take its place.
            return {**told, "index_id": scope.index_id}
        return told

    def _check(self, tool: str, told: Mapping[str, Any], scope: Scope) -> None:
        if tool == COMPARE:
            named, allowed = set(told["instanceIds"]), scope.ids | scope.peers
        else:
            one = instance_in(str(told["logKey"])) if tool == READ else told["instanceId"]
            named, allowed = {str(one)}, scope.ids
        if not named <= allowed or named.isdisjoint(scope.ids):
            known = ", ".join(sorted(allowed))
            raise OutOfScope(
                f"{', '.join(sorted(named - allowed)) or 'it'} is not part of this incident; ask about {known}"
            )

    def mismatch(self, incident: Incident, entries: Sequence[Entry]) -> str:
        """An instance id means one instance, wherever it is asked about."""
        return ""

    def first_tools(self, alert: str) -> Sequence[str]:
        lowered = alert.lower()
        return next(
            (tools for words, tools in _FIRST if any(word in lowered for word in words)), (TRIAGE, ERRORS, FILES)[:2]
        )

    def names_told(self, text: str) -> Iterator[str]:
        yield from ()

    def signature(self, diagnosis: Diagnosis) -> frozenset[str]:
        return frozenset(diagnosis.fault_types)

    def gaps(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        return tuple(str(gap) for gap in cast("Sequence[JsonValue]", _chosen(entries).get("gaps") or ()))

    def completed(self, diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
        return with_control_plane(diagnosis, entries)

    def notes(self, entries: Sequence[Entry]) -> str:
        chosen = _chosen(entries)
        if not chosen:
            return ""
        peers = ", ".join(map(str, cast("Sequence[str]", chosen.get("peers") or ()))) or "none"
        missing = "; ".join(self.gaps(entries)) or "nothing"
        state = answer_of(entries, NODE_STATE)
        seen = f"\nThe answer of {NODE_STATE}, which was asked for you: {json.dumps(state)}" if state else ""
        at = chosen.get("collected_at")
        return f"Bundle collected at: {at}. Peers for compare_nodes: {peers}. Missing: {missing}.{seen}"

    def conclude(
        self, entries: Sequence[Entry], gaps: Sequence[str] = (), *, alert: Mapping[str, object] | None = None
    ) -> Diagnosis | None:
        return conclude(entries, (*(gap for gap in gaps if gap), *self.gaps(entries)))


NODE = NodeInvestigable()


def _chosen(entries: Sequence[Entry]) -> Mapping[str, JsonValue]:
    """Which evidence the incident rests on, as it was recorded last."""
    return answer_of(entries, EVIDENCE)
