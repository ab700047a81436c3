"""The network of a function, and ARNs of its parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from affidavit.evidence.incident_subject import Subject
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.arns import parse_arn
from affidavit.remediation.actions.source_document_values import at_path


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionVpc:
    function_arn: str
    subnets: tuple[str, ...]
    groups: tuple[str, ...]

    def arn(self, kind: str, name: str) -> str:
        return ec2_arn(self.function_arn, kind, name)


def vpc_of(subject: Subject, reader: StateReader) -> FunctionVpc:
    """Without subnets the function is in no VPC."""
    function = reader.read("lambda", "get_function_configuration", FunctionName=subject.id)
    return FunctionVpc(
        function_arn=str(function["FunctionArn"]),
        subnets=tuple(_names(at_path(function, "VpcConfig", "SubnetIds"))),
        groups=tuple(_names(at_path(function, "VpcConfig", "SecurityGroupIds"))),
    )


def ec2_arn(beside: str, kind: str, name: str) -> str:
    """The ARN of a part of the network in the account and region of another ARN."""
    other = parse_arn(beside)
    return f"arn:{other.partition}:ec2:{other.region}:{other.account}:{kind}/{name}"


def id_in(arn: str) -> str:
    return parse_arn(arn).resource.rsplit("/", 1)[-1]


def entries(value: JsonValue) -> list[Item]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]


def kept(document: Item, part: str) -> Item:
    """One part of the network that a known-good state tells, by id."""
    found = at_path(document, "network", part)
    return found if isinstance(found, Mapping) else {}


def subnets_of(thing: JsonValue) -> list[str]:
    """The subnets that an ACL or a route table is associated with."""
    associated = entries(at_path(thing, "Associations"))
    return [str(one["SubnetId"]) for one in associated if one.get("SubnetId")]


def _names(value: JsonValue) -> list[str]:
    return [str(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else []
