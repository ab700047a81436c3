"""Faults of settings and code: what keeps a run from starting, and what it raises when it has."""

import re
from collections.abc import Iterator

from affidavit.agent.rules.facts import CONFIG, IAM, Facts
from affidavit.agent.rules.fault import Fault, Remedy, names, proofs
from affidavit.agent.rules.runs import Sign
from affidavit.agent.rules.wording import names_in
from affidavit.evidence.diagnosis import EvidencePointer, FaultType, IncidentSeverity

_IMPORTED = re.compile(r"Unable to import module '(?P<module>[^']+)': No module named '(?P<missing>[^']+)'")
_CLASS = re.compile(r"(Error|Exception|NotFound)$")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]+")


def configuration_faults(facts: Facts) -> Iterator[Fault]:
    yield from _state(facts)
    yield from _key(facts)
    for sign in facts.history.current("handler-missing"):
        yield _configured(
            facts,
            "the handler setting names what the code does not have",
            sign,
            "Handler",
            {"handler-missing", "raised"},
        )
    for sign in facts.history.current("import-failed"):
        yield _import_fault(facts, sign)
    yield from _variables(facts)


def code_faults(facts: Facts) -> Iterator[Fault]:
    for sign in facts.history.current("key-missing", "raised"):
        if (sign.kind == "key-missing" and _is_unset(facts, sign)) or _is_told_elsewhere(facts, sign):
            continue
        yield _code(
            facts,
            f"the code raises an error it does not handle: {_brief(sign)}",
            sign,
            {"raised", "key-missing", "exited"},
        )


def _is_told_elsewhere(facts: Facts, sign: Sign) -> bool:
    """The line says that AWS denied something or a host was out of reach: other rules tell that, or know it is over."""
    told = ("denied", "unreachable", "unresolved")
    return any(one.kind in told and one.event == sign.event for run in facts.history.runs for one in run.signs)


def unknown_faults(facts: Facts) -> Iterator[Fault]:
    for sign in facts.history.current("exited", "killed"):
        yield Fault(
            kind=FaultType.UNKNOWN,
            cause=f"the runtime of {facts.function} exits, and nothing it logged says why",
            resources=names(facts.function),
            proof=(facts.quote(sign, shows="The runtime ended by itself."),),
            remedy=Remedy(
                action="Let the function log what it does before it exits",
                details="The exit alone does not tell the cause.",
            ),
            severity=IncidentSeverity.MEDIUM,
            explains=frozenset({"exited", "killed"}),
            gaps=("why the runtime exits",),
        )


def _state(facts: Facts) -> Iterator[Fault]:
    for field, reason, label in (
        ("State", "StateReason", "state-failed"),
        ("LastUpdateStatus", "LastUpdateStatusReason", "update-failed"),
    ):
        if facts.config.get(field) != "Failed":
            continue
        said = str(facts.config.get(f"{reason}Code") or "without a code")
        yield Fault(
            kind=FaultType.CONFIGURATION,
            cause=f"Lambda reports {field} Failed for {facts.function}: {said}",
            resources=names(facts.function),
            proof=proofs(
                facts.point(CONFIG, field, shows="Lambda's own word."),
                facts.point(CONFIG, reason, shows="The reason Lambda gives.") if facts.config.get(reason) else None,
                facts.point(CONFIG, f"{reason}Code", shows="Its code.") if facts.config.get(f"{reason}Code") else None,
                facts.point(CONFIG, "Runtime", shows="The runtime.") if facts.config.get("Runtime") else None,
            ),
            remedy=Remedy(
                action="Correct what Lambda names, then update the function",
                details="The reason stands in the evidence.",
            ),
            severity=IncidentSeverity.CRITICAL if field == "State" else IncidentSeverity.HIGH,
            explains=frozenset({label}),
        )


def _key(facts: Facts) -> Iterator[Fault]:
    signs = facts.history.current("environment-key-unusable")
    broken = [
        place for place, one in enumerate(facts.iam.get("kms_keys", [])) if one.get("state") not in (None, "Enabled")
    ]
    if not signs and not broken:
        return
    key = str(facts.config.get("KMSKeyArn") or (facts.iam["kms_keys"][broken[0]]["key_arn"] if broken else ""))
    states = [facts.point(IAM, "kms_keys", place, "state", shows="The state of the key.") for place in broken]
    quotes = [facts.quote(sign, shows="Lambda cannot use the key.") for sign in signs]
    yield Fault(
        kind=FaultType.CONFIGURATION,
        cause=f"the KMS key {key} of the environment variables cannot be used",
        resources=names(key, *(() if key else (facts.function,))),
        proof=proofs(*quotes, *states),
        remedy=Remedy(
            action="Enable the key again, or encrypt the environment with another",
            details="Every cold start needs the key.",
        ),
        severity=IncidentSeverity.CRITICAL,
        explains=frozenset({"environment-key-unusable", "exited"}),
    )


def _import_fault(facts: Facts, sign: Sign) -> Fault:
    handler = str(facts.config.get("Handler") or "")
    found = _IMPORTED.search(sign.message)
    explained = {"import-failed", "raised"}
    if found and found["missing"] == found["module"] == handler.rpartition(".")[0]:
        return _configured(
            facts, "the handler setting names a module that is not in the package", sign, "Handler", explained
        )
    if "/opt/" in sign.quote and facts.config.get("Layers"):
        layer = facts.point(CONFIG, "Layers", 0, shows="The layer below /opt.")
        built = (
            facts.point(CONFIG, "Architectures", 0, shows="What the function runs on.")
            if facts.config.get("Architectures")
            else None
        )
        return _configured(
            facts,
            "a layer does not fit the function: a file of it cannot be loaded",
            sign,
            None,
            explained,
            layer,
            built,
        )
    return _code(facts, f"the package is broken: {_brief(sign)}", sign, explained)


def _variables(facts: Facts) -> Iterator[Fault]:
    for sign in facts.history.current("key-missing", "variable-missing"):
        if _is_unset(facts, sign):
            listed = facts.point(CONFIG, "EnvironmentVariableNames", shows="The variables that are set.")
            yield _configured(
                facts,
                f"the environment variable {sign.name} is not set",
                sign,
                None,
                {"key-missing", "variable-missing", "raised"},
                listed,
            )


def _is_unset(facts: Facts, sign: Sign) -> bool:
    """A KeyError of os.environ says it by itself; a name in capitals says it when the settings lack it."""
    if not sign.name or sign.name in facts.config.get("EnvironmentVariableNames", []):
        return False
    if sign.kind == "variable-missing" or "environ" in sign.message:
        return True
    return bool(facts.config) and _VARIABLE.fullmatch(sign.name) is not None


def _configured(
    facts: Facts, cause: str, sign: Sign, setting: str | None, explains: set[str], *more: EvidencePointer | None
) -> Fault:
    shown = (
        facts.point(CONFIG, setting, shows=f"The setting {setting}.") if setting and facts.config.get(setting) else None
    )
    return Fault(
        kind=FaultType.CONFIGURATION,
        cause=cause,
        resources=names(facts.function),
        proof=proofs(facts.quote(sign, shows="What the runtime said."), shown, *more),
        remedy=Remedy(action="Correct the setting", details=f"{cause[0].upper()}{cause[1:]}."),
        severity=IncidentSeverity.HIGH,
        explains=frozenset({*explains, "exited"}),
    )


def _code(facts: Facts, cause: str, sign: Sign, explains: set[str]) -> Fault:
    changed = (
        facts.point(CONFIG, "LastModified", shows="When the function was last changed.")
        if facts.config.get("LastModified")
        else None
    )
    return Fault(
        kind=FaultType.CODE_ERROR,
        cause=cause,
        resources=names(facts.function),
        proof=proofs(facts.quote(sign, shows="The error as it was logged."), changed),
        remedy=Remedy(
            action="Correct the code, or go back to the version before", details="The error is in the evidence."
        ),
        explains=frozenset({*explains, "exited"}),
    )


def _brief(sign: Sign) -> str:
    """The names in the error, never its text: anybody may have written that. The evidence quotes it."""
    found = sorted(names_in(sign.message), key=lambda name: not _CLASS.search(name))
    kind, *others = found or ["an error without a name"]
    return f"{kind} ({', '.join(others[:6])})" if others else kind
