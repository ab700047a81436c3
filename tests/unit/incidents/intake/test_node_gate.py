"""Which instance an alert means, and whose node may be looked at."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from tests.support.investigations.incidents import an_incident

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident, Signal
from affidavit.incidents.intake.node_gate import NodeGate, NoNodeOfOurs
from affidavit.incidents.intake.other_account_alerts import ForeignAlert
from affidavit.ports.node_directory import Node

NODE, FOREIGN, LOOSE = "i-0a11ce0000000001", "i-0f0f0f0f0f0f0f0f0", "i-01010101010101010"
NAME = "ip-10-0-0-1.ca-central-1.compute.internal"


@dataclass
class Directory:
    asked: list[str] = field(default_factory=list)

    def region_of(self, instance_id: str) -> str | None:
        return "ca-central-1"

    def cluster_of(self, instance_id: str, *, region: str) -> str | None:
        return {NODE: "demo", FOREIGN: "theirs"}.get(instance_id)

    def instance_named(self, name: str, *, region: str) -> str | None:
        self.asked.append(name)
        return {NAME: NODE, "10.0.0.1": NODE, "ip-10-9-9-9.ec2.internal": FOREIGN}.get(name)

    def nodes_of(self, cluster: str, *, region: str) -> Sequence[Node]:
        return ()


def about(name: str, **changes: object) -> Incident:
    subject = Subject(kind=SubjectKind.NODE, id=name)
    return replace(an_incident(), subject=subject, resources=(name,), **changes)


def gate(directory: Directory | None = None) -> NodeGate:
    return NodeGate(directory=directory or Directory(), region="ca-central-1", clusters=frozenset({"demo"}))


@pytest.mark.parametrize("name", [NODE, NAME, "10.0.0.1", f"{NODE}.ca-central-1.compute.internal"])
def test_a_node_is_known_by_its_instance_however_the_alert_names_it(name: str) -> None:
    placed = gate().placed(about(name))
    assert (placed.subject.id, placed.resources, placed.cluster) == (NODE, (NODE,), "demo")
    assert placed.node_name == ("" if name == NODE else name)


def test_an_instance_id_is_not_looked_up_by_name() -> None:
    directory = Directory()
    gate(directory).placed(about(NODE))
    assert directory.asked == []


REFUSED = {
    "another cluster": (about(FOREIGN), "which is not one of ALLOWED_CLUSTERS"),
    "another cluster by name": (about("ip-10-9-9-9.ec2.internal"), "a node of cluster theirs"),
    "an allowed name with a foreign cluster": (about(NAME, cluster="theirs"), "and it is one of demo"),
    "an unknown name": (about("ip-10-0-0-9.ec2.internal"), "has the name ip-10-0-0-9"),
    "no cluster": (about(LOOSE, signal=Signal.ALARM), "not known to belong to a cluster"),
}


@pytest.mark.parametrize(("alert", "why"), REFUSED.values(), ids=REFUSED)
def test_an_alert_about_a_node_that_is_not_ours_is_refused_with_the_reason(alert: Incident, why: str) -> None:
    with pytest.raises(ForeignAlert, match=why):
        gate().placed(alert)


def test_events_of_instances_that_are_no_nodes_are_let_go() -> None:
    """EC2 tells of every instance of the account."""
    with pytest.raises(NoNodeOfOurs):
        gate().placed(about(LOOSE, signal=Signal.NODE_EVENT))


def test_without_a_directory_a_node_is_taken_by_its_instance_id_alone() -> None:
    assert NodeGate().placed(about(NODE, cluster="x")).cluster == "x"
    with pytest.raises(ForeignAlert, match="nobody here can tell which instance"):
        NodeGate().placed(about(NAME))


def test_a_function_passes_unchanged() -> None:
    assert gate().placed(an_incident()) == an_incident()
