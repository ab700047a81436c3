"""Names what a failing run called: a host, a system, or a resource that the error itself does not name."""

import re

from affidavit.agent.rules.errors.error_on_one_line import brief, is_order
from affidavit.agent.rules.errors.named_hosts import hosts
from affidavit.agent.rules.failure_reasons import Reason, said
from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.ledger_facts import IAM, Facts
from affidavit.agent.rules.permissions.policies import statements, texts
from affidavit.agent.rules.run_history import PastRun
from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.workloads.failures import called_system
from affidavit.workloads.sdk_operations import service_name, service_of

_SERVICE = re.compile(
    r"when calling the (?P<operation>\w+) operation|operation error (?P<go>[\w ]+): \w+"
    r"|\(Service: (?:Amazon)?(?P<java>[\w ]+?)[,;]|(?P<aws>[a-z0-9-]+)\.[a-z0-9-]+\.amazonaws\.com"
)
# A name has a character that words have not.
_THING = re.compile(
    r"(?i)\b(secret|parameter)(?: id| name)?[ :=]+[\"'`]?(?=[\w./@+-]*[/_\d-])([\w/@+-][\w./@+-]{2,100})"
)
_THINGS = {"secret-gone": "secret", "secret-value-missing": "secret"}
_ARN = re.compile(r"arn:aws[a-z-]*:(?P<service>[a-z0-9-]+):[^:]*:[^:]*:(?:[a-z]+/)?(?P<name>[\w.-]+)")
_BY_WORDS = (("ProvisionedThroughput", "DynamoDB"), ("provisioned throughput for the table", "DynamoDB"))


def where(facts: Facts, reason: Reason) -> str:
    """Hosts that the failing run's complaints name, where the error itself names none."""
    run = facts.history.run_of(reason)
    family = reason.family
    if run is None or family in ("code", "startup", "limits"):
        return ""
    own = brief(reason)
    told = [reason.text, *(said(one) for one in run.run.complaints)]
    listed = [host for host in hosts(told) if host not in own][:3] or _last_called(run, own, family)
    if listed:
        return f" (called host: {', '.join(listed)})"
    if thing := _spoken_of(run, own, reason.label):
        return f" ({thing})"
    system = called_system([reason.raw, *(one.text for one in reversed(run.run.statements) if not is_order(one.text))])
    return f" (called system: {system})" if system and system.lower() not in own.lower() else ""


def _spoken_of(run: PastRun, own: str, label: str) -> str:
    """`secret ftp/partner`: what the run said it would use, for an error that names only the kind of thing."""
    noun = _THINGS.get(label)
    if noun is None:
        return ""
    told = [one.text for one in reversed(run.run.statements) if not is_order(one.text)]
    found = [f"{noun} {match[2]}" for text in told for match in _THING.finditer(text) if match[1].lower() == noun]
    return next((one for one in found if one.partition(" ")[2] not in own), "")


def _last_called(run: PastRun, own: str, family: str) -> list[str]:
    """The host that the run spoke of last, for an error that names none."""
    if family not in ("dependency", "network") or hosts([own]):
        return []
    said_last = [found for one in reversed(run.run.statements) if (found := hosts([one.text]))]
    return said_last[0][-1:] if said_last else []


def only_resource(facts: Facts, service: str) -> tuple[str | None, tuple[EvidencePointer, ...]]:
    """The one resource of the service that the role's own policies name; None when there are more, or a wildcard."""
    found: dict[str, EvidencePointer | None] = {}
    for name, document in facts.iam.get("inline_policies", {}).items():
        for one in statements(document):
            for arn in texts(one.body.get("Resource")):
                told = _ARN.fullmatch(arn.partition("/index/")[0].partition("/stream/")[0])
                if told and service_name(told["service"]) == service and one.effect == "Allow":
                    at = ("inline_policies", name, *one.place, "Effect")
                    found[told["name"]] = facts.point(IAM, *at, shows=f"{name} names {told['name']}.")
                elif told is None and (arn == "*" or f":{service.lower()}:" in arn):
                    return None, ()
    only = next(iter(found)) if len(found) == 1 else None
    return only, proofs(found[only]) if only else ()


def service_in(text: str) -> str | None:
    for mark, name in _BY_WORDS:
        if mark in text:
            return name
    for found in _SERVICE.finditer(text):
        named = (
            service_of(found["operation"])
            if found["operation"]
            else found["go"] or found["java"] or (service_name(found["aws"]) if found["aws"] else None)
        )
        if named:
            return named
    return None
