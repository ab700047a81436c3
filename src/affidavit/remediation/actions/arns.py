"""Takes ARNs apart."""

from dataclasses import dataclass

from affidavit.errors import InputRefused


@dataclass(frozen=True, kw_only=True, slots=True)
class Arn:
    partition: str
    service: str
    region: str
    account: str
    resource: str


def parse_arn(text: str) -> Arn:
    parts = text.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn":
        raise InputRefused(f"{text!r} is no ARN", hint="an action's target is named by its ARN")
    _, partition, service, region, account, resource = parts
    return Arn(partition=partition, service=service, region=region, account=account, resource=resource)


def function_name(arn: str) -> str:
    """Of an unqualified function ARN."""
    parsed = parse_arn(arn)
    kind, _, name = parsed.resource.partition(":")
    if parsed.service != "lambda" or kind != "function" or not name or ":" in name:
        raise InputRefused(f"{arn!r} is not the ARN of a function", hint="arn:aws:lambda:region:account:function:name")
    return name
