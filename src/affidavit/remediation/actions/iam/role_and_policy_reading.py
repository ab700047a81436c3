"""The role of a function, and policy documents as IAM stores them."""

import json
from collections.abc import Mapping
from urllib.parse import unquote

from affidavit.errors import InputRefused
from affidavit.evidence.incident_subject import Subject
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.actions.arns import parse_arn


def role_of(subject: Subject, reader: StateReader) -> str:
    """The ARN of the function's role."""
    return str(reader.read("lambda", "get_function_configuration", FunctionName=subject.id)["Role"])


def role_name(arn: str) -> str:
    parsed = parse_arn(arn)
    if parsed.service != "iam" or not parsed.resource.startswith("role/"):
        raise InputRefused(f"{arn!r} is not the ARN of a role", hint="arn:aws:iam::account:role/name")
    return parsed.resource.rsplit("/", 1)[-1]


def policy_document(raw: JsonValue) -> Item | None:
    """A document that comes decoded, as text, or as text with escapes; None when it is none."""
    if isinstance(raw, str):
        try:
            raw = json.loads(unquote(raw) if raw.startswith("%7B") else raw)
        except ValueError:
            return None
    return raw if isinstance(raw, Mapping) else None
