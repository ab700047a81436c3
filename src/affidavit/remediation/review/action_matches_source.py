"""Checks that a source says what an action would do, or more: one check an action type, none means refused.

Arguments that only tell the direction (`is_attached`, `replaces`) must lead towards what the source says.
"""

from collections.abc import Callable, Iterator, Mapping

from affidavit.ports.argument_sources import GOOD_VARIABLES, SourceDocument, SourceKind
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.review.iam_policy_checks import inline_policy
from affidavit.remediation.review.network_scope import allows_entry, allows_route, allows_rule
from affidavit.remediation.review.node_checks import (
    is_target_group,
    is_target_node,
    is_this_node,
    runs_our_document,
)
from affidavit.remediation.review.source_document_fields import (
    asked,
    is_call,
    is_function,
    keeps,
    kept,
    last,
    listed,
    mapping,
)

Check = Callable[[Item, str, SourceDocument], bool]
"""Of the arguments and the target: whether the source says so."""


def beyond_source(action: Action, said: SourceDocument) -> Iterator[str]:
    """What the action would do that its source does not say, each a sentence."""
    check = CHECKS.get(action.type)
    if check is None:
        yield f"nobody checks what a source says about {action.type}"
    elif not check(action.arguments, action.target, said):
        yield f"{_words(action.arguments)} does not stand in its source {action.source.reference}"


def _words(arguments: Item) -> str:
    return ", ".join(f"{name} {value}" for name, value in arguments.items())[:300]


# --- functions -------------------------------------------------------------------------------------------------------


def _concurrency(arguments: Item, target: str, said: SourceDocument) -> bool:
    wanted, place = arguments.get("reserved"), ("concurrency", "reserved")
    if said.source.kind is SourceKind.BASELINE:
        return keeps(said, *place) and kept(said, *place) == wanted
    if is_function(asked(said, "DeleteFunctionConcurrency").get("functionName"), last(target)):
        return wanted is None
    request = asked(said, "PutFunctionConcurrency")
    is_it = is_function(request.get("functionName"), last(target))
    return is_it and wanted is not None and request.get("reservedConcurrentExecutions") == wanted


def _configuration(arguments: Item, target: str, said: SourceDocument) -> bool:
    path, wanted = str(arguments.get("path")), arguments.get("value")
    if path == "Environment":
        # Variables are named by the version that has them, and a known-good state must have had the same.
        return said.source.reference == f"{target}:{wanted}" and said.document.get(GOOD_VARIABLES) is True
    if said.source.kind is SourceKind.BASELINE:
        return wanted is not None and kept(said, "configuration", "settings", path) == wanted
    if said.source.kind is SourceKind.FUNCTION_VERSION:
        is_it = said.source.reference.rpartition(":")[0] == target
        return is_it and wanted is not None and said.document.get(path) == wanted
    request = asked(said, "UpdateFunctionConfiguration", "CreateFunction")
    is_it = is_function(request.get("functionName"), last(target))
    return is_it and wanted is not None and request.get(path[:1].lower() + path[1:]) == wanted


def _alias(arguments: Item, target: str, said: SourceDocument) -> bool:
    function, _, alias = target.rpartition(":")
    wanted = str(arguments.get("version"))
    if said.source.kind is SourceKind.BASELINE:
        return kept(said, "configuration", "aliases", alias, "FunctionVersion") == wanted
    if said.source.kind is SourceKind.ALIAS_TARGET:
        return said.document.get("alias_arn") == target and said.document.get("function_version") == wanted
    request = asked(said, "UpdateAlias", "CreateAlias")
    is_it = is_function(request.get("functionName"), last(function)) and request.get("name") == alias
    return is_it and request.get("functionVersion") == wanted


_LIMITS = {
    "Action": "",
    "Principal": "",
    "SourceArn": "aws:sourcearn",
    "SourceAccount": "aws:sourceaccount",
    "PrincipalOrgID": "aws:principalorgid",
}


def _permission(arguments: Item, target: str, said: SourceDocument) -> bool:
    """Every limit of the source must stay: a grant without its SourceArn is wider."""
    request = asked(said, "AddPermission")
    if request:
        told = {name: value for name in _LIMITS if (value := request.get(name[0].lower() + name[1:])) is not None}
        is_it = (
            is_function(request.get("functionName"), last(target)) and request.get("statementId") == arguments["sid"]
        )
        return is_it and bool(told) and arguments["grant"] == told
    statements = listed(kept(said, "configuration", "resource_policy", "Statement"))
    return any(_as_parameters(one) == arguments["grant"] for one in statements if one.get("Sid") == arguments["sid"])


def _as_parameters(statement: Item) -> Item:
    """A kept statement as AddPermission would be asked for it; empty for one that it could not make."""
    who = statement.get("Principal")
    principals = list(who.values()) if isinstance(who, Mapping) else [who]
    tests = [mapping(one) for one in mapping(statement.get("Condition")).values()]
    limits = {key.lower(): value for one in tests for key, value in one.items()}
    if statement.get("Effect") != "Allow" or set(limits) - set(_LIMITS.values()):
        return {}
    named = {ours: limits[theirs] for ours, theirs in _LIMITS.items() if theirs in limits}
    return {"Action": statement.get("Action"), "Principal": principals[0], **named}


def _event_source(arguments: Item, target: str, said: SourceDocument) -> bool:
    if arguments.get("enabled") is not True:
        return False
    if said.source.kind is SourceKind.BASELINE:
        return mapping(kept(said, "configuration", "event_sources", last(target))).get("is_enabled") is True
    named = [str(said.document.get(name)) for name in ("requestParameters", "resourceNames", "responseElements")]
    is_it = any(last(target) in one for one in named)
    return is_it and asked(said, "UpdateEventSourceMapping", "CreateEventSourceMapping").get("enabled") is True


# --- roles -----------------------------------------------------------------------------------------------------------


def _inline(arguments: Item, target: str, said: SourceDocument) -> bool:
    """That the source has this policy; how much of it may come back, `iam_policy_checks` says."""
    return arguments["document"] is not None and bool(inline_policy(arguments, target, said))


def _attachment(arguments: Item, target: str, said: SourceDocument) -> bool:
    arn = str(arguments["policy_arn"])
    if arguments.get("is_attached") is not True:
        return False
    if kept(said, "permissions", "role", "name") == last(target):
        return keeps(said, "permissions", "attached_policies", arn)
    request = asked(said, "DetachRolePolicy", "AttachRolePolicy")
    return request.get("roleName") == last(target) and request.get("policyArn") == arn


def _policy_version(arguments: Item, target: str, said: SourceDocument) -> bool:
    if said.source.kind is SourceKind.POLICY_VERSION:
        named = (said.document.get("policy_arn"), said.document.get("version_id"))
        return named == (target, arguments["version_id"])
    return kept(said, "permissions", "attached_policies", target, "version") == arguments["version_id"]


# --- networks, keys --------------------------------------------------------------------------------------------------


def _egress(arguments: Item, target: str, said: SourceDocument) -> bool:
    if arguments.get("is_there") is not True:
        return False
    request = asked(said, "RevokeSecurityGroupEgress", "AuthorizeSecurityGroupEgress")
    told = request.get("ipPermissions") if request.get("groupId") == last(target) else None
    return allows_rule(kept(said, "network", "security_groups", last(target), "egress") or told, arguments["rule"])


def _acl_entry(arguments: Item, target: str, said: SourceDocument) -> bool:
    place = ("network", "network_acls", last(target), "entries")
    return keeps(said, *place) and allows_entry(kept(said, *place), arguments)


def _route(arguments: Item, target: str, said: SourceDocument) -> bool:
    return allows_route(kept(said, "network", "route_tables", last(target), "routes"), arguments)


def _key(arguments: Item, target: str, said: SourceDocument) -> bool:
    if arguments.get("is_enabled") is not True:
        return False
    if said.source.kind is SourceKind.BASELINE:
        return mapping(kept(said, "configuration", "key_state")).get(target) == "Enabled"
    named: JsonValue = asked(said, "DisableKey").get("keyId")
    return is_call(said, "DisableKey") and named in (target, last(target))


def _redrive(arguments: Item, target: str, said: SourceDocument) -> bool:
    """That the messages go to a queue which feeds the function; how fast is a number of ours, which the type checks."""
    queue = arguments["destination"]
    fed = [mapping(one).get("EventSourceArn") for one in mapping(kept(said, "configuration", "event_sources")).values()]
    return queue != target and queue in (*fed, asked(said, "CreateEventSourceMapping").get("eventSourceArn"))


def _on_node(name: str) -> Check:
    def check(arguments: Item, target: str, said: SourceDocument) -> bool:
        is_ours = runs_our_document(name, arguments, said) and is_this_node(arguments, said)
        return is_ours and is_target_node(target, said)

    return check


def _reboot(arguments: Item, target: str, said: SourceDocument) -> bool:
    is_ours = runs_our_document("node.reboot", arguments, said) and is_this_node(arguments, said)
    return is_ours and is_target_group(target, said)


def _replace(arguments: Item, target: str, said: SourceDocument) -> bool:
    return is_this_node(arguments, said) and is_target_group(target, said)


CHECKS: Mapping[str, Check] = {
    "lambda.concurrency.restore": _concurrency,
    "lambda.configuration.restore": _configuration,
    "lambda.alias.rollback": _alias,
    "lambda.permission.restore": _permission,
    "lambda.event_source.enable": _event_source,
    "iam.inline_policy.restore": _inline,
    "iam.attachment.restore": _attachment,
    "iam.policy_version.set_default": _policy_version,
    "ec2.egress.restore": _egress,
    "ec2.acl_entry.restore": _acl_entry,
    "ec2.route.restore": _route,
    "kms.key.enable": _key,
    "sqs.redrive": _redrive,
    "node.service.restart": _on_node("node.service.restart"),
    "node.images.prune": _on_node("node.images.prune"),
    "node.reboot": _reboot,
    "node.replace": _replace,
}
