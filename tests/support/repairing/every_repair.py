"""A broken thing in the sandbox for every type of the catalog, again and again."""

import json
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.json import Item
from affidavit.remediation.actions.action_type import Aim
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.actions.nodes.pinned_document import NAME, document_content
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.sources.node_as_source import NodeIdentity
from affidavit.sandbox.sandbox import Sandbox
from tests.support.repairing.repaired_account import READ, Made, make_account
from tests.support.repairing.repairs import Workshop

RULE: Item = {"IpProtocol": "tcp", "FromPort": 9, "ToPort": 9, "IpRanges": [{"CidrIp": "10.0.0.0/8"}]}
ENTRY: Item = {"Protocol": "6", "RuleAction": "allow", "CidrBlock": "10.9.0.0/16"}
GRANT: Item = {"Action": "lambda:InvokeFunction", "Principal": "s3.amazonaws.com"}
WAY: Item = {"DestinationCidrBlock": "10.99.0.0/16"}


@dataclass
class EveryRepair:
    """One account for all types. `AWS_ENDPOINT_URL_EC2`, `_SSM` and `_AUTO_SCALING` must name the emulator itself."""

    sandbox: Sandbox
    workshop: Workshop
    made: Made
    mapping: str
    queues: tuple[str, str]
    group: str
    clients: dict[str, Any] = field(default_factory=dict)
    broken: dict[str, Action] = field(default_factory=dict)

    def action(self, kind: str) -> Action:
        """A repair of this type, of something that is broken now."""
        if kind.startswith("node."):
            return self._of_node(kind)
        if kind == "sqs.redrive":
            self.client("sqs").send_message(QueueUrl=self.queues[0], MessageBody="order 1")
            dead, queue = (self.arn("sqs", url.rpartition("/")[2]) for url in self.queues)
            return self.workshop.action(kind, dead, {"destination": queue, "per_second": 10})
        if kind in self.broken:
            self.bring_back(self.broken[kind])
        self.broken[kind] = self.workshop.action(kind, *self._aim(kind))
        return self.broken[kind]

    def bring_back(self, action: Action) -> None:
        """As it was before the action, with the account's own keys."""
        kind, aim = action_type(action.type), Aim(target=action.target, arguments=action.undo or {})
        live = kind.read(aim, self.workshop.reader)
        if live.state != action.precondition.state:
            for call in kind.calls(aim, live.token):
                if call.parameters.get("DryRun") is not True:
                    getattr(self.client(call.service), call.operation)(**call.parameters)
        while not kind.read(aim, self.workshop.reader).is_settled:
            time.sleep(0.05)

    def client(self, service: str) -> Any:
        if service not in self.clients:
            self.clients[service] = self.sandbox.account.client(service)
        return self.clients[service]

    def arn(self, service: str, rest: str) -> str:
        return f"arn:aws:{service}:{self.sandbox.region}:000000000000:{rest}"

    def _aim(self, kind: str) -> tuple[str, Item]:
        function = self.arn("lambda", f"function:{self.made.name}")
        aims: dict[str, tuple[str, Item]] = {
            "lambda.concurrency.restore": (function, {"reserved": 5}),
            "lambda.configuration.restore": (function, {"path": "Timeout", "value": 33}),
            "lambda.alias.rollback": (f"{function}:live", {"version": "1"}),
            "lambda.permission.restore": (function, {"sid": "s", "grant": GRANT}),
            "lambda.event_source.enable": (
                self.arn("lambda", f"event-source-mapping:{self.mapping}"),
                {"enabled": True},
            ),
            "iam.inline_policy.restore": (self.made.role, {"policy": "lost", "document": READ}),
            "iam.attachment.restore": (self.made.role, {"policy_arn": self.made.policy, "is_attached": True}),
            "iam.policy_version.set_default": (self.made.policy, {"version_id": "v2"}),
            "ec2.egress.restore": (
                self.made.arn("security-group", self.made.group),
                {"rule": RULE, "is_there": True},
            ),
            "ec2.acl_entry.restore": (
                self.made.arn("network-acl", self.made.acl),
                {"number": 7, "egress": True, "entry": ENTRY, "replaces": False},
            ),
            "ec2.route.restore": (
                self.made.arn("route-table", self.made.table),
                {"destination": WAY, "via": {"GatewayId": self.made.gateways[0]}, "replaces": False},
            ),
            "kms.key.enable": (self.made.key, {"is_enabled": True}),
        }
        return aims[kind]

    def _of_node(self, kind: str) -> Action:
        found = self.client("autoscaling").describe_auto_scaling_groups(AutoScalingGroupNames=[self.group])
        instance = found["AutoScalingGroups"][0]["Instances"][0]["InstanceId"]
        identity = NodeIdentity(
            reader=self.workshop.reader,
            directory=Ec2NodeDirectory(AwsClients(self.sandbox.region)),
            allowed_clusters=frozenset({"demo"}),
            region=self.sandbox.region,
            clock=self.workshop.clock,
            has_evidence=lambda _: True,
        )
        said = identity.of(instance)
        self.workshop.sources.documents.append(said)
        subject = Subject(kind=SubjectKind.NODE, id=instance)
        aim = action_type(kind).aims(subject, said, self.workshop.reader)[0]
        return self.workshop.action(kind, aim.target, aim.arguments, source=said.source)


def make_every(sandbox: Sandbox, workshop: Workshop) -> EveryRepair:
    """A function with all that belongs to it, its queue with dead letters, and a group of nodes."""
    made = make_account(sandbox)
    client, sqs, iam = (sandbox.client(one) for one in ("lambda", "sqs", "iam"))
    for _ in range(2):
        client.publish_version(FunctionName=made.name)
        client.update_function_configuration(FunctionName=made.name, Timeout=9)
    client.create_alias(FunctionName=made.name, Name="live", FunctionVersion="2")
    client.put_function_concurrency(FunctionName=made.name, ReservedConcurrentExecutions=1)
    iam.detach_role_policy(RoleName=made.name, PolicyArn=made.policy)
    sandbox.client("kms").disable_key(KeyId=made.key)
    dead = _queue(sqs, f"{made.name}-dead")
    policy = json.dumps({"deadLetterTargetArn": dead[1], "maxReceiveCount": 1})
    queue = _queue(sqs, made.name, RedrivePolicy=policy)
    mapping = client.create_event_source_mapping(FunctionName=made.name, EventSourceArn=queue[1], Enabled=False)
    return EveryRepair(
        sandbox=sandbox,
        workshop=workshop,
        made=made,
        mapping=mapping["UUID"],
        queues=(dead[0], queue[0]),
        group=_group(sandbox),
    )


def _queue(sqs: Any, name: str, **attributes: str) -> tuple[str, str]:
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def _group(sandbox: Sandbox) -> str:
    ssm, name = sandbox.account.client("ssm"), f"workers-{uuid4().hex[:8]}"
    with suppress(ssm.exceptions.DocumentAlreadyExists):
        ssm.create_document(Name=NAME, Content=document_content(), DocumentType="Command")
    tags = [{"Key": "eks:cluster-name", "Value": "demo", "PropagateAtLaunch": True}]
    sandbox.account.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=name, MinSize=0, MaxSize=9, DesiredCapacity=5, Tags=tags
    )
    return name
