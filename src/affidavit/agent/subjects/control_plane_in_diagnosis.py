"""What the control plane saw of a node, beside what the node itself logged: evidence for its diagnosis, or a gap."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from affidavit.evidence.diagnosis import Diagnosis, EvidencePointer
from affidavit.incidents.evidence.control_plane_port import TOOL as NODE_STATE
from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry

__all__ = ["NODE_STATE", "answer_of", "with_control_plane"]
_MOST = 3
_QUOTE_CHARACTERS = 300


def answer_of(entries: Sequence[Entry], tool: str) -> Mapping[str, JsonValue]:
    """As it was recorded last; empty when it was not."""
    for entry in reversed(entries):
        if entry.tool == tool and isinstance(entry.answer, Mapping):
            return entry.answer
    return {}


def with_control_plane(diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
    """The diagnosis with what the cluster's API said of the node; with a gap where it was asked and could not say.

    One that cites it already stays as it is.
    """
    state = cast("Mapping[str, Any]", answer_of(entries, NODE_STATE))
    if not state or any(one.tool == NODE_STATE for one in diagnosis.evidence):
        return diagnosis
    gaps = tuple(dict.fromkeys((*diagnosis.gaps, *_gaps(state))))
    return diagnosis.model_copy(update={"evidence": (*diagnosis.evidence, *_pointers(state)), "gaps": gaps})


def _pointers(state: Mapping[str, Any]) -> Iterator[EvidencePointer]:
    conditions = list(enumerate(state.get("conditions") or ()))
    unwell = [(number, one) for number, one in conditions if _is_unwell(one)]
    ready = [(number, one) for number, one in conditions if one["type"] == "Ready"]
    for number, one in (unwell or ready)[:_MOST]:
        place, value = ("message", one["message"]) if one["message"] else ("status", one["status"])
        yield EvidencePointer(
            tool=NODE_STATE,
            field=f"/conditions/{number}/{place}",
            value=str(value)[:_QUOTE_CHARACTERS],
            interpretation=f"The control plane's word on the condition {one['type']}.",
        )


def _is_unwell(condition: Mapping[str, Any]) -> bool:
    """Ready should be True; of every other condition that Kubernetes has, True is the trouble."""
    return condition["status"] != "True" if condition["type"] == "Ready" else condition["status"] == "True"


def _gaps(state: Mapping[str, Any]) -> Iterator[str]:
    if state.get("error"):
        yield f"what the control plane saw of the node is not known: {state['error']}"[:1000]
    elif not state.get("is_node"):
        yield "the control plane has no such node any more, so its word on it is not known"
