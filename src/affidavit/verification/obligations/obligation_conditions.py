"""The conditions that obligations name. Each looks at recorded answers alone and says whether it holds."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from affidavit.evidence.diagnosis import FaultType
from affidavit.verification.obligations.recorded_incident_facts import CONFIG, IAM, NETWORK, Situation, texts_of
from affidavit.workloads.denials import denials_in
from affidavit.workloads.event_destinations import DELIVERIES, sending_action

_ACTION = re.compile(r"(?i)not authorized to perform:? `?([a-z0-9-]+:[A-Za-z*]+)")
_PRINCIPAL = re.compile(r"(?:User|Principal|user|principal):? `?(arn:aws[\w-]*:(?:sts|iam)::\d*:[^\s\"'`]+)")
_EXPLAINS = re.compile(
    r"(?i)because no (identity|resource|session|permissions boundary|vpc endpoint|service control)|"
    r"with an explicit deny in|have access to (?:the|this) (?:foundation )?model|Model access is denied"
)
_PORT = re.compile(r"(?i)port[ =:]{0,2}(\d{2,5})\b|:(\d{2,5})\b(?!:)")
_PRIVATE = re.compile(r"10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.")
_WEB = (80, 443)
Condition = Callable[[Situation, FaultType], bool]


def sign(at: Situation, fault: FaultType) -> bool:
    return fault in at.shown


def own_principal(at: Situation, fault: FaultType) -> bool:
    """A denial that names nobody is ours: it stands in our log."""
    named = [name for run in at.failing if fault in run.faults for name in _PRINCIPAL.findall(run.text)]
    role = str(at.answer(IAM).get("role_name") or str(at.answer(CONFIG).get("Role") or "").rpartition("/")[2])
    return not named or not role or any(f"/{role}/" in f"{name}/" for name in named)


def denied_decision(at: Situation, fault: FaultType) -> bool:
    actions = _denied_actions(at)
    denied = [str(one.get("action")) for one in at.decisions if str(one.get("decision")).endswith("Deny")]
    return any(not actions or action in actions for action in denied)


def message_explains(at: Situation, fault: FaultType) -> bool:
    return any(_EXPLAINS.search(run.text) for run in at.failing)


def policies_lack_it(at: Situation, fault: FaultType) -> bool:
    """The role's policies were read, and no statement allows the action; or a policy that was read denies it."""
    iam, actions = at.answer(IAM), _denied_actions(at)
    if not iam or not actions:
        return bool(iam) and any(fault in run.faults for run in at.failing) and _has_deny(iam)
    allowed = {action for action in actions if any(_covers(one, action, "Allow") for one in _statements(iam))}
    return actions != allowed or _has_deny(iam)


def role_is_gone(at: Situation, fault: FaultType) -> bool:
    iam = at.answer(IAM)
    trust = " ".join(texts_of(iam.get("trust_policy")))
    return iam.get("role_exists") is False or (bool(trust) and "lambda.amazonaws.com" not in trust)


def key_policy_denies(at: Situation, fault: FaultType) -> bool:
    return bool(at.answer(CONFIG).get("EnvironmentError")) or "KMSAccessDenied" in "".join(r.text for r in at.failing)


def sending_denied(at: Situation, fault: FaultType) -> bool:
    """Events or results could not be sent, and no policy of the role lets it send them there."""
    iam = at.answer(IAM)
    for metric, field, _ in DELIVERIES:
        action = sending_action(str(at.answer(CONFIG).get(field) or ""))
        if action and at.metric(metric) and iam:
            return not any(_covers(one, action, "Allow") for one in _statements(iam))
    return False


def source_disabled(at: Situation, fault: FaultType) -> bool:
    listed = cast("Sequence[Mapping[str, Any]]", at.answer(CONFIG).get("EventSources") or ())
    return any(one.get("State") in ("Disabled", "Disabling") for one in listed)


def key_unusable(at: Situation, fault: FaultType) -> bool:
    keys = cast("Sequence[Mapping[str, Any]]", at.answer(IAM).get("kms_keys") or ())
    return any(key.get("state") not in (None, "Enabled") for key in keys)


def throttles_counted(at: Situation, fault: FaultType) -> bool:
    return bool(at.metric("throttles"))


def concurrency_is_zero(at: Situation, fault: FaultType) -> bool:
    return at.answer(CONFIG).get("ReservedConcurrentExecutions") == 0


def state_failed(at: Situation, fault: FaultType) -> bool:
    return at.answer(CONFIG).get("State") in ("Failed", "Inactive", "Pending")


def update_failed(at: Situation, fault: FaultType) -> bool:
    return at.answer(CONFIG).get("LastUpdateStatus") == "Failed"


def connects_in_vain(at: Situation, fault: FaultType) -> bool:
    """A run that waits for a blocked host can end at its own time limit, or say that no server takes it."""
    waits = {FaultType.TIMEOUT, FaultType.DEPENDENCY} & at.shown
    return bool(waits) and bool(at.answer(NETWORK).get("vpc_id"))


def network_explains(at: Situation, fault: FaultType) -> bool:
    network = at.answer(NETWORK)
    return bool(network.get("vpc_id")) and any(
        (_no_way_out(network), _closed_groups(network, _ports(at)), _denied_by_acl(network), _no_names(network))
    )


def nothing_known_fails(at: Situation, fault: FaultType) -> bool:
    return not at.shown and not throttles_counted(at, fault) and not concurrency_is_zero(at, fault)


def verdict_names_it(at: Situation, fault: FaultType) -> bool:
    return bool(at.node.of_kind(fault))


def cause_is_open(at: Situation, fault: FaultType) -> bool:
    return any(cause.get("still_open") for cause in at.node.of_kind(fault))


def bundle_origin_is_proven(at: Situation, fault: FaultType) -> bool:
    """Where nobody recorded which bundle was chosen, a person brought the answers; one may also vouch for a bundle."""
    return at.node.is_of_known_origin


def bundle_is_fresh(at: Situation, fault: FaultType) -> bool:
    return not at.node.chosen or at.node.chosen.get("is_fresh") is True


CONDITIONS: Mapping[str, Condition] = {
    one.__name__: one
    for one in (
        *(sign, own_principal, denied_decision, message_explains, policies_lack_it, role_is_gone, key_policy_denies),
        *(key_unusable, throttles_counted, concurrency_is_zero, state_failed, update_failed, connects_in_vain),
        *(network_explains, nothing_known_fails, verdict_names_it, cause_is_open),
        *(bundle_origin_is_proven, bundle_is_fresh, sending_denied, source_disabled),
    )
}


def _denied_actions(at: Situation) -> set[str]:
    """Also those that a refusal names by its operation alone."""
    told = {action for run in at.failing for action in _ACTION.findall(run.text)}
    return told or {denial.action for run in at.failing for line in run.complaints for denial in denials_in(line)}


def _statements(iam: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    documents = [*_values(iam.get("inline_policies")), *_values(iam.get("attached_policy_documents"))]
    for document in documents:
        listed = cast("Any", document.get("Statement") or ())
        yield from cast("list[Mapping[str, Any]]", [listed] if isinstance(listed, Mapping) else listed)


def _values(documents: object) -> list[Mapping[str, Any]]:
    return list(cast("Mapping[str, Mapping[str, Any]]", documents).values()) if isinstance(documents, Mapping) else []


def _covers(statement: Mapping[str, Any], action: str, effect: str) -> bool:
    named = statement.get("Action") or ()
    patterns = [named] if isinstance(named, str) else named
    return statement.get("Effect") == effect and any(
        fnmatchcase(action.casefold(), str(one).casefold()) for one in patterns
    )


def _has_deny(iam: Mapping[str, Any]) -> bool:
    resources = [*_values(iam.get("resource_policies")), {"Statement": list(_statements(iam))}]
    texts = "\n".join(text for document in resources for text in texts_of(document))
    boundary = iam.get("permissions_boundary") is not None
    return boundary or re.search(r"^Deny$", texts, re.MULTILINE) is not None


def _no_way_out(network: Mapping[str, Any]) -> bool:
    subnets = cast("Sequence[Mapping[str, Any]]", network.get("subnets") or ())
    routes = [route for subnet in subnets for route in cast("Sequence[Mapping[str, Any]]", subnet.get("routes") or ())]
    is_black = any(route.get("state") == "blackhole" for route in routes)
    to_gateway = any(str(route.get("target", "")).startswith("igw-") for route in routes)
    return is_black or to_gateway or any(subnet.get("has_default_route") is False for subnet in subnets)


def _closed_groups(network: Mapping[str, Any], ports: set[int]) -> bool:
    groups = cast("Sequence[Mapping[str, Any]]", network.get("security_groups") or ())
    rules = [rule for group in groups for rule in cast("Sequence[Mapping[str, Any]]", group.get("egress") or ())]
    if not groups:
        return False
    wanted = ports or {443}
    return not any(_opens(rule, port) for rule in rules for port in wanted)


def _opens(rule: Mapping[str, Any], port: int) -> bool:
    """Web ports lead out of the VPC, so a rule that names addresses inside alone does not open them."""
    first, _, last = str(rule.get("ports", "all")).partition("-")
    is_of_port = not first.isdigit() or int(first) <= port <= int(last if last.isdigit() else first)
    to = [str(one) for one in cast("Sequence[Any]", rule.get("to") or ())]
    is_inside = bool(to) and all(_PRIVATE.match(one) for one in to)
    return is_of_port and not (is_inside and port in _WEB)


def _denied_by_acl(network: Mapping[str, Any]) -> bool:
    subnets = cast("Sequence[Mapping[str, Any]]", network.get("subnets") or ())
    rules = [rule for subnet in subnets for rule in cast("Sequence[Mapping[str, Any]]", subnet.get("nacl_rules") or ())]
    return any(rule.get("action") == "deny" and int(rule.get("number") or 0) < 32767 for rule in rules) or (
        bool(rules) and not any(rule.get("action") == "allow" and rule.get("direction") == "egress" for rule in rules)
    )


def _no_names(network: Mapping[str, Any]) -> bool:
    dns = network.get("dns")
    return isinstance(dns, Mapping) and cast("Mapping[str, Any]", dns).get("support") is False


def _ports(at: Situation) -> set[int]:
    found = (match for run in at.failing for match in _PORT.finditer(run.text))
    return {port for match in found if 20 < (port := int(match[1] or match[2])) < 65_536}
