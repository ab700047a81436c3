"""Faults that an error tells by its own words: a called service, credentials, limits, the package, settings, code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from affidavit.agent.rules.errors.called_host_or_resource import only_resource, service_in, where
from affidavit.agent.rules.errors.error_on_one_line import brief
from affidavit.agent.rules.failure_reasons import EXITED, UNREAD, Reason
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.ledger_facts import CONFIG, Facts
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity

FAMILIES = (
    *("lookalikes", "credentials", "limits", "throttled", "startup", "configuration", "dependency", "code"),
    "general",
)
_REMEDIES = {
    FaultType.CREDENTIALS: Remedy(
        action="Renew what the function logs in with, or have the other side accept it",
        details="The credentials are refused; permissions and network are not the matter.",
    ),
    FaultType.THROTTLING: Remedy(
        action="Raise the called service's throughput, or call it less",
        details="The refusals come from the service behind the function, not from Lambda.",
    ),
    FaultType.DEPENDENCY: Remedy(
        action="See with the owner of the called service why it fails",
        details="The function works; what it calls does not.",
    ),
    FaultType.RESOURCE_LIMIT: Remedy(
        action="Use less of what runs out, or raise the limit where it can be raised",
        details="The evidence says which limit it is.",
    ),
    FaultType.STARTUP: Remedy(
        action="Correct the package, layer or image", details="No run gets as far as the handler."
    ),
    FaultType.CONFIGURATION: Remedy(action="Correct the setting", details="The code is good; a setting is not."),
    FaultType.CODE_ERROR: Remedy(action="Correct the code", details="The error is in the evidence."),
    FaultType.OUT_OF_MEMORY: Remedy(action="Give the function more memory", details="Memory is the limit it hits."),
    FaultType.PERMISSION_LOSS: Remedy(action="Allow what is denied", details="The evidence names it."),
    FaultType.NETWORK_BLOCK: Remedy(action="Open the way again", details="The evidence names what is closed."),
    FaultType.UNKNOWN: Remedy(
        action="Let the function log what it does before it fails",
        details="The error alone does not tell the cause.",
    ),
}
# Where the remedy of the kind would send people to the wrong place.
_OWN_REMEDIES = {
    "model-access": Remedy(
        action="Have the account given access to the model, or call one that it has",
        details="Model access is granted in Bedrock for the account and Region; the role's policies need no change.",
    ),
    "own-roles-of-service": Remedy(
        action="Map the function's role to a role of the called service that allows it",
        details="The service keeps these grants itself; the policies of IAM need no change.",
    ),
}
_IMPORTED = re.compile(r"Unable to import module '(?P<module>[^']+)': No module named '(?P<missing>[^']+)'")
_EXTENSION = re.compile(r"EXTENSION\tName: (\S+)")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")
_KEY = re.compile(r"KeyError: ['\"]?(?P<name>[A-Za-z_][\w.-]*)|key not found: \"(?P<name2>[^\"]+)\"")
# As the SDKs add it beside the error.
_RESOURCE = re.compile(
    r"^(?P<kind>Bucket|Table|Queue|Stream|Function|Index)Name: (?P<name>[\w./:-]{3,100})$", re.MULTILINE
)


def told_faults(facts: Facts) -> Iterator[Fault]:
    for reason in facts.history.current(*FAMILIES):
        yield _fault(facts, reason)


def unread_faults(facts: Facts) -> Iterator[Fault]:
    """Runs that fail for a reason nobody can read: said so, with the lines."""
    for reason in facts.history.current(EXITED, UNREAD, "killed"):
        error = brief(reason)
        exits = reason.label != UNREAD
        cause = (
            f"the runtime of {facts.function} exits ({error}), and nothing it logged says why"
            if exits
            else f"runs of {facts.function} fail with words that say no known cause: {error}"
        )
        yield Fault(
            kind=FaultType.UNKNOWN,
            cause=cause,
            resources=names(facts.function),
            proof=(facts.quote(reason, shows="What was logged; what it means is not known."),),
            remedy=_REMEDIES[FaultType.UNKNOWN],
            severity=IncidentSeverity.MEDIUM,
            explains=frozenset({reason.label}),
            gaps=("why the runtime exits" if exits else "what the error means",),
            is_sure=False,
        )


def _fault(facts: Facts, reason: Reason) -> Fault:
    match = reason.match
    assert match is not None  # `current` was asked for families of the catalog
    kind, cause, proof, is_sure = match.kind.fault, match.says, (), match.kind.is_sure
    if unset := _unset_variable(facts, reason):
        listed = facts.point(CONFIG, "EnvironmentVariableNames", shows="The variables that are set.")
        kind, cause, proof = FaultType.CONFIGURATION, f"the environment variable {unset} is not set", proofs(listed)
        is_sure = reason.label == "variable-missing" or _reads_environment(reason)
    elif match.kind.family == "startup":
        kind, cause, proof = _startup(facts, reason)
    elif match.kind.family == "configuration":
        cause, proof = _setting(facts, reason)
    elif match.kind.family == "throttled":
        cause, proof = _throttled(facts, reason)
    elif match.kind.family == "code" and _is_in_init(facts, reason):
        kind, cause = FaultType.STARTUP, "the code fails while it is loaded, so no run starts"
    return Fault(
        kind=kind,
        cause=f"{cause}: {brief(reason)}{where(facts, reason)}",
        resources=names(facts.function),
        proof=(facts.quote(reason, shows="The error as it was logged."), *proof, *_changed(facts, kind)),
        remedy=_OWN_REMEDIES.get(reason.label) or _REMEDIES[kind],
        severity=IncidentSeverity.CRITICAL if kind is FaultType.STARTUP else IncidentSeverity.HIGH,
        explains=frozenset({reason.label}),
        is_sure=is_sure,
    )


def _changed(facts: Facts, kind: FaultType) -> tuple[EvidencePointer, ...]:
    if kind not in (FaultType.CODE_ERROR, FaultType.STARTUP) or not facts.config.get("LastModified"):
        return ()
    return proofs(facts.point(CONFIG, "LastModified", shows="When the function was last changed."))


def _throttled(facts: Facts, reason: Reason) -> tuple[str, tuple[EvidencePointer, ...]]:
    assert reason.match is not None  # as above
    service = service_in(reason.text)
    if service is None:
        return reason.match.says, ()
    name, shown = only_resource(facts, service)
    on = f" (the role's policies name {name} alone)" if name and name not in brief(reason) else ""
    return f"{service}{on} throttles: {reason.match.says}", shown if on else ()


def _unset_variable(facts: Facts, reason: Reason) -> str | None:
    """A variable that the error misses and the settings lack. A KeyError of os.environ says it by itself."""
    assert reason.match is not None  # as above
    known = facts.config.get("EnvironmentVariableNames", [])
    if reason.label == "variable-missing":
        name = next((value for key, value in reason.match.names.items() if key.startswith("name")), None)
        return name if name and name not in known else None
    found = _KEY.search(reason.text) if reason.family == "code" else None
    name = (found["name"] or found["name2"]) if found else None
    if not name or name in known:
        return None
    is_like_one = bool(facts.config) and _VARIABLE.fullmatch(name) is not None
    return name if _reads_environment(reason) or is_like_one else None


def _reads_environment(reason: Reason) -> bool:
    """The line of code that failed asks for a variable; else a name in capitals may be any key."""
    return any(mark in reason.raw for mark in ("environ", "getenv", "ENV"))


def _is_in_init(facts: Facts, reason: Reason) -> bool:
    run = facts.history.run_of(reason)
    return run is not None and run.run.has_failed_init


def _startup(facts: Facts, reason: Reason) -> tuple[FaultType, str, tuple[EvidencePointer, ...]]:
    assert reason.match is not None  # as above
    handler = str(facts.config.get("Handler") or "")
    shown = facts.point(CONFIG, "Handler", shows="The setting Handler.") if handler else None
    found = _IMPORTED.search(reason.raw)
    if found and found["missing"] == found["module"] == handler.rpartition(".")[0]:
        cause = "the handler setting names a module that is not in the package"
        return FaultType.CONFIGURATION, cause, proofs(shown)
    if _is_handler_changed(facts, reason, handler):
        return FaultType.CONFIGURATION, "the handler setting names a class that is not in the package", proofs(shown)
    if reason.label == "handler-missing":
        return FaultType.CONFIGURATION, reason.match.says, proofs(shown)
    built = (
        facts.point(CONFIG, "Architectures", 0, shows="What the function runs on.")
        if facts.config.get("Architectures")
        else None
    )
    if reason.label == "extension" and (name := _extension(facts, reason)):
        return FaultType.STARTUP, f"the extension {name} does not start, so no run can", proofs(built, shown)
    if "/opt/" in reason.quote and facts.config.get("Layers"):
        layer = facts.point(CONFIG, "Layers", 0, shows="The layer below /opt.")
        return (
            FaultType.STARTUP,
            "a layer does not fit the function: a file of it cannot be loaded",
            proofs(layer, built),
        )
    return FaultType.STARTUP, reason.match.says, proofs(built, shown)


def _is_handler_changed(facts: Facts, reason: Reason, handler: str) -> bool:
    """What is missing is what the setting names, and somebody set it lately: the package did not lose it."""
    wanted = handler.partition("::")[0]
    is_named = bool(wanted) and re.search(rf"(?<![\w.]){re.escape(wanted)}(?!\w)", reason.text) is not None
    return is_named and reason.label == "class-missing" and any(_sets_handler(one, handler) for one in facts.changes)


def _sets_handler(change: Mapping[str, Any], handler: str) -> bool:
    request = cast("Mapping[str, Any]", change.get("request") or {})
    is_call = str(change.get("event_name", "")).startswith("UpdateFunctionConfiguration")
    return is_call and request.get("handler") == handler


def _extension(facts: Facts, reason: Reason) -> str | None:
    """By Lambda's own line about it, where the failure does not name it."""
    run = facts.history.run_of(reason)
    lines = [line.message for line in run.run.platform] if run is not None else []
    named = [found[1] for line in lines if (found := _EXTENSION.match(line))]
    return named[-1] if named and not (reason.match and reason.match.names) else None


def _setting(facts: Facts, reason: Reason) -> tuple[str, tuple[EvidencePointer, ...]]:
    """Names the variables that may hold the setting: their values are never read."""
    assert reason.match is not None  # as above
    marks = {
        "read-only-replica": ("ENDPOINT", "HOST", "URL", "ADDR", "DSN"),
        "no-address": ("HOST", "URL", "URI", "ENDPOINT", "ADDR", "WEBHOOK", "DSN"),
        "not-configured": ("KEY", "TOKEN", "WEBHOOK", "URL", "CONNECTION"),
        "resource-missing": ("BUCKET", "TABLE", "QUEUE", "TOPIC", "STREAM", "SECRET", "PARAM", "NAME", "ARN", "REGION"),
        "aws-profile": ("AWS_PROFILE",),
        "no-region": ("REGION", "ENDPOINT"),
    }.get(reason.label, ())
    variables: Sequence[str] = facts.config.get("EnvironmentVariableNames", [])
    named = [(place, name) for place, name in enumerate(variables) if any(mark in name.upper() for mark in marks)]
    proof = [
        facts.point(CONFIG, "EnvironmentVariableNames", place, shows="A variable that may hold it.")
        for place, _ in named[:3]
    ]
    where = f" (see the variable {', '.join(name for _, name in named[:3])})" if named else ""
    called = _RESOURCE.search(reason.text)
    what = f", {called['kind'].lower()} {called['name']}" if called and called["name"] not in brief(reason) else ""
    return f"{reason.match.says}{what}{where}", proofs(*proof)
