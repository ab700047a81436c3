"""`ec2.egress.restore`: puts one egress rule of a security group back."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import JsonValue as PydanticJson

from affidavit.changes.aws_call_builders import egress_call
from affidavit.evidence.diagnosis import RiskLevel
from affidavit.evidence.incident_subject import Subject
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import ApiCall, StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.action_type import Aim, Arguments, Reading
from affidavit.remediation.actions.ec2.function_vpc_lookup import entries, id_in, vpc_of
from affidavit.remediation.actions.ec2.network_repair import NetworkRepair
from affidavit.remediation.actions.ec2.rule_splitting import single_rules
from affidavit.remediation.actions.source_document_values import at_path
from affidavit.remediation.actions.trail_event_fields import is_call, items, requested


class EgressArguments(Arguments):
    """`rule` has one range. `is_there` is False in an undo alone."""

    rule: dict[str, PydanticJson]
    is_there: bool


class RestoreEgress(NetworkRepair):
    name = "ec2.egress.restore"
    risk = RiskLevel.MEDIUM
    arguments: type[Arguments] = EgressArguments

    def aims(self, subject: Subject, said: SourceDocument, reader: StateReader) -> Sequence[Aim]:
        vpc = vpc_of(subject, reader)
        found = [
            Aim(target=vpc.arn("security-group", group), arguments={"rule": rule, "is_there": True})
            for group in vpc.groups
            for rule in _said(group, said)
        ]
        return [aim for aim in found if self.read(aim, reader).state != self.expected(aim, {})]

    def read(self, aim: Aim, reader: StateReader) -> Reading:
        found = reader.read("ec2", "describe_security_groups", GroupIds=[id_in(aim.target)])["SecurityGroups"]
        rules = [rule for group in entries(found) for rule in _rules(group.get("IpPermissionsEgress"))]
        return Reading(state={"is_there": aim.arguments["rule"] in rules})

    def problems(self, aim: Aim, live: Reading, reader: StateReader) -> Sequence[str]:
        return []

    def expected(self, aim: Aim, state: Item) -> Item:
        return {"is_there": aim.arguments["is_there"]}

    def undo(self, aim: Aim, state: Item) -> Item | None:
        return {"rule": aim.arguments["rule"], "is_there": state["is_there"]}

    def calls(self, aim: Aim, token: str | None) -> tuple[ApiCall, ...]:
        """First as a dry run: EC2 says whether it would be allowed, before anything is changed."""
        rule, is_there = aim.arguments["rule"], aim.arguments["is_there"] is True
        call = egress_call(aim.target, rule, is_there=is_there)
        return replace(call, parameters={**call.parameters, "DryRun": True}), call

    def touches(self, aim: Aim, reader: StateReader) -> Sequence[str]:
        return [aim.target]


def _rules(permissions: JsonValue) -> Iterator[Item]:
    for permission in items(permissions):
        yield from single_rules(permission)


def _said(group: str, said: SourceDocument) -> list[Item]:
    match said.source.kind:
        case SourceKind.BASELINE:
            return list(_rules(at_path(said.document, "network", "security_groups", group, "egress")))
        case SourceKind.TRAIL_EVENT:
            # The call that took rules away names them; so does the one that made them.
            calls = ("RevokeSecurityGroupEgress", "AuthorizeSecurityGroupEgress")
            if not is_call(said.document, *calls) or requested(said.document, "groupId") != group:
                return []
            return list(_rules(requested(said.document, "ipPermissions")))
        case _:
            return []
