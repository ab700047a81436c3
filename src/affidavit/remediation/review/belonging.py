"""Checks that what an action changes belongs to the subject of the incident, by what AWS says now."""

from collections.abc import Iterator

from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.ports.argument_sources import SourceDocument, SourceKind
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.review.source_document_fields import keeps, last, listed, mapping


def foreign_target(action: Action, subject: Subject, said: SourceDocument, reader: StateReader) -> Iterator[str]:
    """Raises what the reader raises."""
    match subject.kind:
        case SubjectKind.FUNCTION:
            function = reader.read("lambda", "get_function_configuration", FunctionName=subject.id)
            if not _is_of_function(action, function, said, reader):
                yield f"{action.target} does not belong to {subject}"
            if said.source.kind is SourceKind.BASELINE and said.document.get("function") != function["FunctionArn"]:
                yield f"its source is a state of another function than {subject}"
        case SubjectKind.NODE:
            if action.arguments.get("instance_id") == subject.id == said.document.get("instance_id"):
                return
            yield f"{action.target} does not belong to {subject}"


def _is_of_function(action: Action, function: Item, said: SourceDocument, reader: StateReader) -> bool:
    target, vpc = action.target, mapping(function.get("VpcConfig"))
    match action.type.split(".")[:2]:
        case ["lambda", "event_source"]:
            mapped = reader.read("lambda", "get_event_source_mapping", UUID=last(target))
            return _unqualified(str(mapped.get("FunctionArn"))) == function["FunctionArn"]
        case ["lambda", "alias"]:
            return target.rpartition(":")[0] == function["FunctionArn"]
        case ["lambda", _]:
            return target == function["FunctionArn"]
        case ["iam", "policy_version"]:
            return target in _attached(str(function["Role"]), reader)
        case ["iam", _]:
            return target == function["Role"]
        case ["ec2", "egress"]:
            return last(target) in _texts(vpc.get("SecurityGroupIds"))
        case ["ec2", kind]:
            # A known-good state of the function lists the ACLs and tables of its subnets, and no others.
            return keeps(said, "network", f"{'network_acl' if kind == 'acl_entry' else 'route_table'}s", last(target))
        case ["kms", _]:
            return target == function.get("KMSKeyArn")
        case ["sqs", _]:
            # That the target is the dead-letter queue of this one, the type checks.
            name = str(function["FunctionName"])
            mapped = reader.read_all("lambda", "list_event_source_mappings", "EventSourceMappings", FunctionName=name)
            return action.arguments["destination"] in [one.get("EventSourceArn") for one in listed(list(mapped))]
        case _:
            return False


def _attached(role: str, reader: StateReader) -> list[JsonValue]:
    found = reader.read_all("iam", "list_attached_role_policies", "AttachedPolicies", RoleName=last(role))
    return [one.get("PolicyArn") for one in listed(list(found))]


def _unqualified(arn: str) -> str:
    return ":".join(arn.split(":")[:7])


def _texts(value: JsonValue) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else []
