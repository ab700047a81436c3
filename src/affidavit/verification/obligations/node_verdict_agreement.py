"""Holds what a diagnosis says of a node to the verdict on its bundle: nothing open is denied, nothing is left out."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from affidavit.evidence.diagnosis import Diagnosis, FaultType
from affidavit.verification.obligations.recorded_incident_facts import Situation
from affidavit.verification.obligations.recorded_node_answers import NodeFacts
from affidavit.verification.obligations.state_claims import says_state
from affidavit.verification.text.text_problem import WordFinding


def node_findings(diagnosis: Diagnosis, at: Situation) -> Iterator[WordFinding]:
    """Problems and what stays open; nothing for an incident that no bundle of a node was read for."""
    node = at.node
    if not node.triage:
        return
    if not diagnosis.fault_types or says_state("healthy", diagnosis.root_cause):
        yield from _against_health(diagnosis, node)
    yield from _left_out(diagnosis, node)
    if set(diagnosis.fault_types) <= {FaultType.UNKNOWN}:
        yield from _doubts_of_bundle(node)


def _against_health(diagnosis: Diagnosis, node: NodeFacts) -> Iterator[WordFinding]:
    if node.open_causes:
        cause = node.open_causes[0].get("cause")
        yield WordFinding(
            says=f"it names no open fault, and the verdict on the bundle has one: {cause}", is_refused=True
        )
    if says_state("healthy", diagnosis.root_cause):
        says = "no bundle shows that a node is healthy: say what was read, and that nothing known was found"
        yield WordFinding(says=says, is_refused=True)


def _left_out(diagnosis: Diagnosis, node: NodeFacts) -> Iterator[WordFinding]:
    """Causes that are open and not named, and what the verdict could not explain."""
    named = set(diagnosis.fault_types)
    for cause in node.open_causes:
        if named and not named & {cause.get("fault_type"), FaultType.NODE_FAULT}:
            yield WordFinding(says=f"the verdict has another open cause: {cause.get('cause')}", is_refused=False)
    if FaultType.UNKNOWN in named:
        return  # that is what it says
    for entry in node.unexplained:
        ids = ", ".join(map(str, entry.get("finding_ids") or ()))
        yield WordFinding(says=f"not explained: {entry.get('what')} ({ids})", is_refused=False)


def _doubts_of_bundle(node: NodeFacts) -> Iterator[WordFinding]:
    """What "no known fault" and "cause unknown" need: a bundle of this node, of this time, that is whole."""
    if not node.is_of_known_origin:
        yield WordFinding(says="nothing proves that the bundle came from this node", is_refused=False)
    if node.chosen and node.chosen.get("is_fresh") is not True:
        yield WordFinding(says="the bundle was not collected at the time of the alert", is_refused=False)
    bundle = cast("Mapping[str, Any]", node.triage.get("bundle") or {})
    if bundle.get("complete") is not True:
        yield WordFinding(says="the stored bundle is not whole", is_refused=False)
