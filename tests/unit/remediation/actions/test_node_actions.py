"""Repairs of nodes on the sandbox: our own document by version and hash, groups that can do without the node."""

import json
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from tests.support.repairing.repairs import BOB, Workshop, a_workshop

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.errors import EvidenceUnavailable, NotFound, UpstreamFailed
from affidavit.evidence.diagnosis import FaultType, RiskLevel
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument
from affidavit.ports.aws_reads_and_changes import Grant
from affidavit.ports.cluster.control_plane import NodeCondition
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type, catalog
from affidavit.remediation.actions.nodes.pinned_document import NAME, document_content
from affidavit.remediation.actions.nodes.scaling_group_health import group_problems
from affidavit.remediation.execution.node_symptoms import NodeReadiness
from affidavit.remediation.plan.plan_record import Action, OnFailedProof, Symptom
from affidavit.remediation.plan.rendering import rendered
from affidavit.remediation.plan.seal import plan_bytes, typed_part
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.review.action_matches_source import beyond_source
from affidavit.remediation.review.belonging import foreign_target
from affidavit.remediation.review.node_checks import restarts_another
from affidavit.remediation.sources.node_as_source import NodeIdentity
from affidavit.sandbox.sandbox import Sandbox

OURS = [name for name in catalog() if name.startswith("node.")]


@dataclass
class Nodes:
    """A group of five worker nodes, and the document that repairs them."""

    sandbox: Sandbox
    workshop: Workshop
    group: str
    has_evidence: bool = True
    cluster: str = "demo"

    def client(self, service: str) -> Any:
        return self.sandbox.account.client(service)

    @property
    def instances(self) -> list[str]:
        found = self.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[self.group])
        return [one["InstanceId"] for one in found["AutoScalingGroups"][0]["Instances"]]

    @property
    def identity(self) -> NodeIdentity:
        return NodeIdentity(
            reader=self.workshop.reader,
            directory=Ec2NodeDirectory(AwsClients(self.sandbox.region)),
            allowed_clusters=frozenset({self.cluster}),
            region=self.sandbox.region,
            clock=self.workshop.clock,
            has_evidence=lambda _: self.has_evidence,
        )

    def said(self, instance_id: str) -> SourceDocument:
        found = self.identity.of(instance_id)
        self.workshop.sources.documents.append(found)
        return found

    def aims(self, kind: str, said: SourceDocument) -> list[Aim]:
        subject = Subject(kind=SubjectKind.NODE, id=str(said.document["instance_id"]))
        return list(action_type(kind).aims(subject, said, self.workshop.reader))

    def action(self, kind: str, said: SourceDocument) -> Action:
        aim = self.aims(kind, said)[0]
        return self.workshop.action(kind, aim.target, aim.arguments, source=said.source)


@pytest.fixture(scope="module")
def group(sandbox: Sandbox) -> str:
    ssm, name = sandbox.account.client("ssm"), f"workers-{uuid4().hex[:8]}"
    with suppress(ssm.exceptions.DocumentAlreadyExists):  # of another test with the same sandbox
        ssm.create_document(Name=NAME, Content=document_content(), DocumentType="Command")
    tags = [{"Key": "eks:cluster-name", "Value": "demo", "PropagateAtLaunch": True}]
    sandbox.account.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=name, MinSize=0, MaxSize=9, DesiredCapacity=5, Tags=tags
    )
    return name


@pytest.fixture
def nodes(
    tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch, group: str
) -> Nodes:
    for service in ("EC2", "SSM", "AUTO_SCALING"):
        monkeypatch.setenv(f"AWS_ENDPOINT_URL_{service}", aws_environment["AWS_ENDPOINT_URL"])
    return Nodes(sandbox=sandbox, workshop=a_workshop(tmp_path, sandbox), group=group)


def carried_out(nodes: Nodes, action: Action) -> str:
    """Through approvals and the executor; the plan's id, once it is proven."""
    workshop, is_high = nodes.workshop, action.risk is RiskLevel.HIGH
    plan = workshop.plan(action, needed_approvals=2 if is_high else 1, on_failed_proof=OnFailedProof.HAND_OVER)
    row = workshop.approved(plan)
    if is_high:
        assert row.phase is Phase.AWAITING
        workshop.approvals.approve(row.plan_id, BOB, typed=typed_part(row.seal))
    assert workshop.executor.run(plan.plan_id).phase is Phase.PROVEN
    return plan.plan_id


def test_every_repair_of_a_node_is_carried_out_once_by_its_own_call(nodes: Nodes) -> None:
    first, *others = nodes.instances
    for kind in OURS:
        said = nodes.said(first)
        action = nodes.action(kind, said)
        assert list(beyond_source(action, said)) == []
        subject = Subject(kind=SubjectKind.NODE, id=first)
        assert list(foreign_target(action, subject, said, nodes.workshop.reader)) == []
        live = action_type(kind).read(Aim(target=action.target, arguments=action.arguments), nodes.workshop.reader)
        assert (
            action_type(kind).problems(
                Aim(target=action.target, arguments=action.arguments), live, nodes.workshop.reader
            )
            == []
        )
        plan = carried_out(nodes, action)
        if action.undo is not None:
            row = nodes.workshop.plans.get(plan)
            stored = nodes.workshop.plans.plan(row)
            assert "undo: nothing is sent" in rendered(plan_bytes(stored), row.seal)
            grants = len(nodes.workshop.door.grants)
            assert nodes.workshop.executor.undo(plan, "alice").phase is Phase.UNDONE
            assert len(nodes.workshop.door.grants) == grants, "there is nothing to send back"
    commands = nodes.client("ssm").list_commands(InstanceId=first)["Commands"]
    assert sorted(one["Parameters"]["Operation"][0] for one in commands) == [
        "prune-images",
        "reboot",
        "restart-kubelet",
    ]
    assert first not in nodes.instances and set(others) < set(nodes.instances) and len(nodes.instances) == 5


def test_the_critic_refuses_another_node_document_or_operation(nodes: Nodes) -> None:
    one, other = nodes.instances[:2]
    said, foreign = nodes.said(one), nodes.said(other)
    for kind in OURS:
        action = nodes.action(kind, said)
        assert list(beyond_source(action, foreign))
        subject = Subject(kind=SubjectKind.NODE, id=other)
        assert list(foreign_target(action, subject, said, nodes.workshop.reader))
        forgeries: list[Item] = [{"instance_id": other}, {"instance_arn": foreign.document["instance_arn"]}]
        if "operation" in action.arguments:
            forgeries += [{"hash": "0" * 64}, {"version": "2"}, {"operation": "nothing"}]
            forgeries += [{"operation": "reboot" if kind != "node.reboot" else "prune-images"}]
        for changes in forgeries:
            assert list(beyond_source(replace(action, arguments={**action.arguments, **changes}), said)), changes
        assert list(beyond_source(replace(action, target=str(foreign.document["instance_arn"])), said))
    restart = nodes.action("node.service.restart", said)
    assert restart.arguments["operation"] == "restart-kubelet"
    about = {kind: _diagnosis(nodes, kind) for kind in (FaultType.NODE_KUBELET, FaultType.NODE_RUNTIME)}
    assert [restarts_another(restart, one) for one in about.values()] == [False, True]


def _diagnosis(nodes: Nodes, kind: FaultType) -> Any:
    context = nodes.workshop.bench.contexts.get_context(nodes.workshop.incident(f"inc-{kind}"))
    assert context is not None and context.diagnosis is not None
    return context.diagnosis.model_copy(update={"fault_types": (kind,)})


def test_without_evidence_in_store_or_an_allowed_cluster_nothing_is_lost(nodes: Nodes) -> None:
    nodes.has_evidence = False
    said = nodes.said(nodes.instances[0])
    assert [kind for kind in OURS if nodes.aims(kind, said)] == ["node.service.restart", "node.images.prune"]
    nodes.cluster = "another"
    with pytest.raises(NotFound, match="no allowed cluster"):
        nodes.identity.of(nodes.instances[0])


def test_a_credential_runs_our_document_on_its_node_and_nothing_else(nodes: Nodes) -> None:
    one, other = nodes.instances[:2]
    said = nodes.said(one)
    (call,) = action_type("node.images.prune").calls(nodes.aims("node.images.prune", said)[0], None)
    (lost,) = action_type("node.replace").calls(nodes.aims("node.replace", said)[0], None)
    changer = nodes.workshop.door.open(Grant(calls=(call,), source_identity="alice", session_name="plan-1"))
    for changed in (replace(call, parameters={**call.parameters, "InstanceIds": [other]}), lost):
        with pytest.raises(UpstreamFailed, match="may not call"):
            changer.call(changed)
    for wrong in ({"DocumentHash": "0" * 64}, {"DocumentVersion": "7"}, {"Parameters": {"Operation": ["rm -rf /"]}}):
        with pytest.raises(ClientError):
            nodes.client("ssm").send_command(**{**call.parameters, **wrong})
    changer.call(call)


def _group(*states: str, desired: int) -> Item:
    members = [
        {"InstanceId": f"i-{number}", "LifecycleState": state.split("/")[0], "HealthStatus": state.split("/")[1]}
        for number, state in enumerate(states)
    ]
    return {"AutoScalingGroupName": "workers", "DesiredCapacity": desired, "Instances": members}


WELL = "InService/Healthy"


def test_at_most_a_fifth_of_a_group_is_unhealthy_and_one_is_handled_at_a_time() -> None:
    assert list(group_problems("i-0", _group(*[WELL] * 5, desired=5))) == []
    assert list(group_problems("i-0", _group("InService/Unhealthy", *[WELL] * 4, desired=5))) == []
    assert "2 of 5" in " ".join(group_problems("i-0", _group(*[WELL] * 4, "InService/Unhealthy", desired=5)))
    assert list(group_problems("i-0", _group(*[WELL] * 9, "InService/Unhealthy", desired=10))) == []
    assert "1 of 4" in " ".join(group_problems("i-0", _group(*[WELL] * 4, desired=4)))
    assert "2 of 6" in " ".join(group_problems("i-0", _group(*[WELL] * 5, desired=6)))
    assert "one at a time" in " ".join(group_problems("i-0", _group(*[WELL] * 10, "Pending/Healthy", desired=11)))
    assert "is not in workers" in " ".join(group_problems("i-9", _group(*[WELL] * 5, desired=5)))


def test_a_node_is_well_again_when_its_cluster_has_heard_so_since(nodes: Nodes) -> None:
    since = datetime(2026, 1, 15, 10, tzinfo=UTC)
    symptom = Symptom(subject=Subject(kind=SubjectKind.NODE, id=nodes.instances[0]), window_seconds=60)

    def good(status: str, minutes: int) -> int:
        ready = NodeCondition(
            type="Ready",
            status=status,
            reason="",
            message="",
            since=None,
            heard_at=since + timedelta(minutes=minutes),
        )
        plane: Any = type("Plane", (), {"node_seen": lambda *_, **__: type("Seen", (), {"conditions": (ready,)})})()
        directory = Ec2NodeDirectory(AwsClients(nodes.sandbox.region))
        return (
            NodeReadiness(directory=directory, control_plane=plane, region=nodes.sandbox.region)
            .look(symptom, since=since)
            .good
        )

    assert (good("True", 1), good("True", -1), good("Unknown", 1)) == (1, 0, 0)
    with pytest.raises(EvidenceUnavailable):
        NodeReadiness(
            directory=Ec2NodeDirectory(AwsClients(nodes.sandbox.region)),
            control_plane=None,
            region=nodes.sandbox.region,
        ).look(symptom, since=since)


def test_the_document_takes_fixed_operations_alone() -> None:
    document = json.loads(document_content())
    allowed = document["parameters"]["Operation"]["allowedValues"]
    assert allowed == ["restart-kubelet", "restart-containerd", "prune-images", "reboot"]
    assert list(document["parameters"]) == ["Operation"]
