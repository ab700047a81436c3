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


def alias_of(arn: str) -> tuple[str, str]:
    """The function's name and the alias, of an alias's ARN."""
    function, _, alias = arn.rpartition(":")
    return function_name(function), alias


def mapping_id(arn: str) -> str:
    parsed = parse_arn(arn)
    kind, _, uuid = parsed.resource.partition(":")
    if parsed.service != "lambda" or kind != "event-source-mapping" or not uuid:
        raise InputRefused(f"{arn!r} is not the ARN of an event source mapping", hint="see ListEventSourceMappings")
    return uuid
