"""The Critic on roles, networks and keys: what the source says passes, everything wider or foreign is refused."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from tests.support.investigations.incidents import an_incident
from tests.support.repairing.remediation import a_document
from tests.support.repairing.repaired_account import DENY, FAULTS, Made, make_account
from tests.support.repairing.repairs import ROBOT, Workshop, a_workshop

from affidavit.evidence.diagnosis import Diagnosis, FaultType
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.incident import Incident
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import catalog
from affidavit.remediation.citation_rereading import StoredCitations, diagnosis_digest
from affidavit.remediation.critic import Critic
from affidavit.remediation.plan.plan_record import Action, Plan
from affidavit.remediation.plan.seal import precondition_of
from affidavit.remediation.plan_resolver import Resolver
from affidavit.remediation.review.action_matches_source import CHECKS
from affidavit.remediation.review.network_scope import allows_rule
from affidavit.sandbox.sandbox import Sandbox

FAULT_TYPES = (FaultType.PERMISSION_LOSS, FaultType.NETWORK_BLOCK)
FAULT_NAMES = {fault.__name__: fault for _, fault in FAULTS}
ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"


@dataclass
class Review:
    """An incident of a function that was broken, and who makes and reviews its plan."""

    made: Made
    workshop: Workshop
    incident: Incident
    adviser: Any = None

    @property
    def stored(self) -> Diagnosis:
        context = self.workshop.bench.contexts.get_context(self.incident.incident_id)
        assert context is not None and context.diagnosis is not None
        return context.diagnosis

    @property
    def diagnosis(self) -> Diagnosis:
        return self.stored.model_copy(update={"fault_types": FAULT_TYPES})

    def plan(self, *said: SourceDocument) -> Plan:
        self.workshop.sources.documents = list(said)
        resolver = Resolver(
            reader=self.made.reader, sources=self.workshop.sources, clock=self.workshop.clock, adviser=self.adviser
        )
        plan = resolver.resolve(self.incident, self.diagnosis, created_by=ROBOT)
        # The bench stored a diagnosis of one fault; here it has several.
        return replace(plan, diagnosis_sha256=diagnosis_digest(self.stored))

    def refusals(self, plan: Plan) -> list[str]:
        bench, sources = self.workshop.bench.supervisor, self.workshop.sources
        citations = StoredCitations(contexts=bench.contexts, records=bench.records, sources=sources)
        critic = Critic(
            reader=self.made.reader,
            sources=sources,
            citations=citations,
            clock=self.workshop.clock,
            adviser=self.adviser,
        )
        return critic.refusals(plan, self.incident, self.diagnosis)

    def forged(self, action: Action, **changes: Any) -> Action:
        """As somebody would forge it: whole in itself, with other arguments or another target."""
        made = replace(action, **changes)
        kind = catalog()[made.type]
        aim = Aim(target=made.target, arguments=made.arguments)
        state = kind.read(aim, self.made.reader).state
        return replace(
            made,
            precondition=precondition_of(state),
            expected=kind.expected(aim, state),
            undo=kind.undo(aim, state),
        )


@pytest.fixture(scope="module")
def made(sandbox: Sandbox) -> Made:
    return make_account(sandbox)


@pytest.fixture
def review(
    made: Made, tmp_path: Path, sandbox: Sandbox, aws_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Review:
    monkeypatch.setenv("AWS_ENDPOINT_URL_EC2", aws_environment["AWS_ENDPOINT_URL"])
    workshop = a_workshop(tmp_path, sandbox)
    incident = an_incident(
        f"inc-{uuid4().hex[:8]}",
        account="000000000000",
        subject=Subject(kind=SubjectKind.FUNCTION, id=made.name),
        resources=(made.name,),
        occurred_at=datetime.now(UTC) + timedelta(minutes=1),
    )
    workshop.bench.supervisor.receive(incident, remaining=timedelta(minutes=5))
    return Review(made=made, workshop=workshop, incident=incident)


@contextmanager
def broken(made: Made, *names: str) -> Iterator[SourceDocument]:
    """The known-good state of before; each type is broken meanwhile, and put back."""
    good = made.baseline()
    for fault in (FAULT_NAMES[name] for name in names):
        fault(made)
    try:
        yield good
    finally:
        for kind in dict.fromkeys(kind for kind, fault in FAULTS if fault.__name__ in names):
            for aim in made.aims(kind, good):
                made.make(kind, aim)


def _statement(**changes: Any) -> Item:
    allow = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*", **changes}
    return {"Version": "2012-10-17", "Statement": [allow]}


def wider(made: Made, name: str) -> list[dict[str, Any]]:
    """Arguments and targets beyond what the known-good state has, for each type of action."""
    match name:
        case "iam.inline_policy.restore":
            actions = ["s3:*", "*", "s3:PutObject", ["s3:GetObject", "iam:CreateUser"], "s3:Get*"]
            documents = [{"policy": "read", "document": _statement(Action=one)} for one in actions]
            return [{"arguments": one} for one in (*documents, {"policy": "other", "document": _statement()})]
        case "iam.attachment.restore":
            return [{"arguments": {"policy_arn": ADMIN, "is_attached": True}}]
        case "iam.policy_version.set_default":
            return [{"arguments": {"version_id": "v3"}}]
        case "ec2.egress.restore":
            rules = [{"IpProtocol": "-1", "Ipv6Ranges": [{"CidrIpv6": "::/0"}]}]
            return [{"arguments": {"rule": rule, "is_there": True}} for rule in rules]
        case "ec2.acl_entry.restore":
            entry = {"Protocol": "-1", "RuleAction": "allow", "CidrBlock": "0.0.0.0/0"}
            places = [{"number": 7, "egress": False}, {"number": 5, "egress": True}]
            return [{"arguments": {**place, "entry": entry, "replaces": False}} for place in places]
        case "ec2.route.restore":
            elsewhere = {"destination": {"DestinationCidrBlock": "10.77.0.0/16"}, "replaces": False}
            return [{"arguments": {**elsewhere, "via": {"GatewayId": made.gateways[0]}}}]
        case "kms.key.enable":
            other = made.client("kms").create_key()["KeyMetadata"]["Arn"]
            made.client("kms").disable_key(KeyId=other)
            return [{"target": other}]
        case _:
            raise AssertionError(f"{name} has no wider arguments here")


@pytest.mark.parametrize(
    "faults",
    [
        ("lose_policy", "detach", "close_group", "block", "lose_route", "disable"),
        ("other_version", "unblock", "lead_astray"),
    ],
    ids="+".join,
)
def test_what_the_source_says_passes_and_nothing_wider(review: Review, faults: tuple[str, ...]) -> None:
    with broken(review.made, *faults) as good:
        plan = review.plan(good)
        expected = [kind for kind, fault in FAULTS if fault.__name__ in faults]
        assert sorted(one.type for one in plan.actions) == sorted(expected)
        assert review.refusals(plan) == []
        for action in plan.actions:
            for changes in wider(review.made, action.type):
                forged = replace(plan, actions=(review.forged(action, **changes),))
                assert review.refusals(forged), changes


def test_a_policy_that_was_widened_since_is_not_attached_again(review: Review) -> None:
    made, iam = review.made, review.made.client("iam")
    good = made.baseline()
    wide = '{"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}'
    version = iam.create_policy_version(PolicyArn=made.policy, PolicyDocument=wide, SetAsDefault=True)
    iam.detach_role_policy(RoleName=made.name, PolicyArn=made.policy)
    try:
        plan = review.plan(good)
        assert "iam.attachment.restore" in [one.type for one in plan.actions]
        assert any("wider than its source" in why for why in review.refusals(plan))
    finally:
        iam.attach_role_policy(RoleName=made.name, PolicyArn=made.policy)
        iam.set_default_policy_version(PolicyArn=made.policy, VersionId="v1")
        iam.delete_policy_version(PolicyArn=made.policy, VersionId=version["PolicyVersion"]["VersionId"])


def test_a_state_of_another_function_is_no_source(review: Review) -> None:
    with broken(review.made, "disable") as good:
        foreign = a_document(SourceKind.BASELINE, {**good.document, "function": f"{good.document['function']}-2"})
        assert any("another function" in why for why in review.refusals(review.plan(foreign)))


STOPS: list[tuple[str, Item]] = [
    ("iam.inline_policy.restore", {"policy": "read", "document": None}),
    ("iam.inline_policy.restore", {"policy": "read", "document": _statement(Effect="Deny")}),
    ("iam.attachment.restore", {"policy_arn": "", "is_attached": False}),
    ("ec2.egress.restore", {"rule": {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}, "is_there": False}),
    ("ec2.acl_entry.restore", {"number": 100, "egress": True, "entry": DENY, "replaces": True}),
    ("ec2.acl_entry.restore", {"number": 100, "egress": True, "entry": None, "replaces": True}),
    ("ec2.route.restore", {"destination": {"DestinationCidrBlock": "0.0.0.0/0"}, "via": None, "replaces": True}),
    ("kms.key.enable", {"is_enabled": False}),
]


def test_a_fix_that_only_stops_traffic_is_refused_for_every_type(review: Review) -> None:
    made, good = review.made, review.made.baseline()
    targets = {
        "iam": made.role,
        "ec2.egress.restore": made.arn("security-group", made.group),
        "ec2.acl_entry.restore": made.arn("network-acl", made.acl),
        "ec2.route.restore": made.arn("route-table", made.table),
        "kms": made.key,
    }
    with broken(made, "lose_policy"):
        plan = review.plan(good)
    (action,) = plan.actions
    for name, arguments in STOPS:
        target = targets.get(name) or targets[name.split(".")[0]]
        given = {**arguments, "policy_arn": made.policy} if "policy_arn" in arguments else arguments
        kind = catalog()[name]
        stopping = review.forged(
            action, type=name, target=target, arguments=given, risk=kind.risk, undo_class=kind.undo_class
        )
        refusals = review.refusals(replace(plan, actions=(stopping,), blast_radius=(target,)))
        assert any("only stop the traffic" in why for why in refusals), (name, arguments)


@dataclass
class Adviser:
    """A chat model's opinion, as a test writes it."""

    order: tuple[int, ...] = ()
    against: tuple[str, ...] = ()

    def chosen(self, cause: str, candidates: Sequence[str]) -> Sequence[int]:
        return self.order

    def objections(self, plan: str) -> Sequence[str]:
        return self.against


def test_a_chat_model_orders_leaves_out_and_objects_and_nothing_else(review: Review) -> None:
    with broken(review.made, "lose_policy", "disable") as good:
        rules = review.plan(good)
        first, second = rules.actions
        orders = {(1, 0): [second, first], (1,): [second], (7, -1): [first, second], (): [first, second]}
        for order, expected in orders.items():
            review.adviser = Adviser(order=order)
            plan = review.plan(good)
            assert list(plan.actions) == expected, order
            assert len(plan.actions) + len([one for one in plan.advice if "left it out" in one.why]) == 2
            assert review.refusals(plan) == []
        review.adviser = Adviser(against=("it is Friday",))
        assert review.refusals(rules) == ["a chat model objects: it is Friday"]
        review.adviser = Adviser(against=())
        assert review.refusals(replace(rules, policy_version="0")), "no opinion lifts a refusal"


def test_parts_of_two_rules_do_not_make_a_third() -> None:
    """Every value of the forged rule stands in the source, but not together."""
    https = {"IpProtocol": "tcp", "FromPort": 443, "ToPort": 443, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    inside = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
    assert allows_rule([https, inside], https) and allows_rule([https, inside], inside)
    assert not allows_rule([https, inside], {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]})
    without_ports = {"IpProtocol": "tcp", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
    assert not allows_rule([https, inside], without_ports)
    both = {**https, "Ipv6Ranges": [{"CidrIpv6": "::/0"}]}
    assert not allows_rule([https, inside], both)


def test_the_critic_has_a_check_for_every_action_of_the_catalog() -> None:
    assert set(CHECKS) == set(catalog())
