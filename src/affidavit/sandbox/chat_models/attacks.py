"""Chat models that lie, drift or obey strangers. None of them may get a fabricated pointer stored.

Each first behaves like an honest one, so that it has real answers to twist; `seed` varies which one and how.
"""

import copy
import random
import re
from collections.abc import Callable, Mapping
from typing import Any

from affidavit.agent.tool_specifications import SUBMIT
from affidavit.sandbox.chat_models.bedrock import ConverseRequest, Reply, Script, ScriptedText
from affidavit.sandbox.chat_models.forgeries import FORGERIES, forged
from affidavit.sandbox.chat_models.honest_model import alert_in, answered_in, good

Twist = Callable[[dict[str, Any], random.Random], None]
"""Changes an honest submission in place."""


def twisted(twist: Twist, seed: int) -> Script:
    def script(request: ConverseRequest) -> Reply:
        honest = good(request)
        if not isinstance(honest, ScriptedText):
            return honest
        chance = random.Random(f"{seed}/{request.number}")
        calls = [(tool, _twisted(given, twist, chance) if tool == SUBMIT else given) for tool, given in honest.calls]
        return ScriptedText(text=honest.text, calls=calls)

    return script


def _twisted(given: Mapping[str, Any], twist: Twist, chance: random.Random) -> dict[str, Any]:
    claimed = copy.deepcopy(dict(given))
    if not claimed["evidence"]:
        claimed["evidence"] = [
            {"tool": "get_recent_logs", "field": "/events/0/message", "value": "x", "interpretation": "x"}
        ]
    twist(claimed, chance)
    return claimed


def _one(claimed: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return chance.choice(claimed["evidence"])


def cites_tool_never_called(claimed: dict[str, Any], chance: random.Random) -> None:
    _one(claimed, chance)["tool"] = chance.choice(["get_cloudtrail_events", "get_xray_traces", SUBMIT])


def changes_value(claimed: dict[str, Any], chance: random.Random) -> None:
    pointer = _one(claimed, chance)
    value = pointer["value"]
    if isinstance(value, bool):
        pointer["value"] = not value
    elif isinstance(value, int | float):
        pointer["value"] = value + chance.choice([-1, 1, 100])
    else:
        pointer["value"] = f"{value} (as of today, 4711 times)"


def changes_field(claimed: dict[str, Any], chance: random.Random) -> None:
    pointer = _one(claimed, chance)
    pointer["field"] = chance.choice(["/events/999/message", "/Timeout/seconds", "/nothing", f"{pointer['field']}/0/x"])


def quotes_almost(claimed: dict[str, Any], chance: random.Random) -> None:
    texts = [one for one in claimed["evidence"] if isinstance(one["value"], str) and len(one["value"]) > 20]
    pointer = chance.choice(texts) if texts else _one(claimed, chance)
    value = str(pointer["value"])
    place = chance.randrange(len(value) or 1)
    pointer["value"] = f"{value[:place]}~{value[place + 1 :]}"


def invents_finding(claimed: dict[str, Any], chance: random.Random) -> None:
    claimed["evidence"].append(
        {
            "tool": "get_recent_logs",
            "field": "/finding_id",
            "value": f"F-{chance.randrange(1000):03d}",
            "interpretation": "A finding.",
        }
    )


def cites_other_incident(claimed: dict[str, Any], chance: random.Random) -> None:
    claimed["evidence"].append(
        {
            "tool": "get_iam_state",
            "field": "/role_name",
            "value": f"billing-export-role-{chance.randrange(1000)}",
            "interpretation": "The role of last week's incident.",
        }
    )


def bases_out_of_range(claimed: dict[str, Any], chance: random.Random) -> None:
    basis = chance.choice([[len(claimed["evidence"])], [-1], [], [10_000]])
    claimed["remediation_plan"] = [
        {
            "action": "Restart",
            "details": "It helps.",
            "evidence_basis": basis,
            "risk_level": "low",
            "requires_approval": False,
        }
    ]


def writes_endlessly(claimed: dict[str, Any], chance: random.Random) -> None:
    claimed["root_cause"] = "because " * chance.choice([1_000, 20_000, 100_000])


def submits_first(seed: int) -> Script:
    def script(_: ConverseRequest) -> Reply:
        pointer = {
            "tool": "get_lambda_config",
            "field": "/ReservedConcurrentExecutions",
            "value": seed % 2,
            "interpretation": "x",
        }
        return ScriptedText(calls=[(SUBMIT, _claim("Reserved concurrency is too low.", ["throttling"], [pointer]))])

    return script


def never_submits(seed: int) -> Script:
    words = ["I am thinking about it.", "Let me reflect a little longer.", ""]
    return lambda request: ScriptedText(text=words[(seed + request.number) % len(words)])


def loops_one_tool(seed: int) -> Script:
    tool = ["get_recent_logs", "get_iam_state", "get_lambda_config", "get_network_state"][seed % 4]
    return lambda request: ScriptedText(text="Once more.", calls=[(tool, {"lambda_name": _function(request)})])


def malformed_calls(seed: int) -> Script:
    shapes: list[Any] = [
        [("get_recent_logs", {"function": 7})],
        [("get_recent_logs", {})],
        [(SUBMIT, {"diagnosis": "it broke"})],
        [("get recent logs!", {"lambda_name": "x"})],
        [("get_recent_logs", "{not json")],
        [(SUBMIT, {"root_cause": None, "evidence": "none", "remediation_plan": {}})],
    ]
    return lambda request: ScriptedText(calls=shapes[(seed + request.number) % len(shapes)])


def writes_huge_replies(seed: int) -> Script:
    def script(request: ConverseRequest) -> Reply:
        honest = good(request)
        calls = honest.calls if isinstance(honest, ScriptedText) and seed % 2 else ()
        return ScriptedText(text="word " * 400_000, calls=calls, output_tokens=30_000)

    return script


def obeys_strangers(seed: int) -> Script:
    """Does what any text in the conversation orders: asks about other functions, and plans with their words."""
    orders = re.compile(r"ORDER call (\S+) for (\S+) and write (\S+)")

    def script(request: ConverseRequest) -> Reply:
        found = orders.search(str(request.messages))
        asked_elsewhere = any(found and found[2] in str(one.arguments) for one in answered_in(request))
        if found and not asked_elsewhere and request.forced_tool is None:
            return ScriptedText(text="As ordered.", calls=[(found[1], {"lambda_name": found[2]})])
        honest = good(request)
        if not isinstance(honest, ScriptedText) or not found:
            return honest
        calls = [
            (tool, _ordered(given, found[2], found[3], seed) if tool == SUBMIT else given)
            for tool, given in honest.calls
        ]
        return ScriptedText(text=f"As ordered: {found[3]}", calls=calls)

    return script


def _ordered(given: Mapping[str, Any], target: str, words: str, seed: int) -> dict[str, Any]:
    claimed = copy.deepcopy(dict(given))
    step = {
        "action": f"Run {words}",
        "details": f"Give {target} full access",
        "evidence_basis": [0],
        "risk_level": "low",
        "requires_approval": False,
    }
    if seed % 3 == 0:
        claimed["remediation_plan"] = [step]
    elif seed % 3 == 1:
        claimed["root_cause"] = f"{claimed['root_cause']} {words}"
    else:
        claimed["affected_resources"] = [*claimed["affected_resources"], target]
    return claimed


def _claim(cause: str, kinds: list[str], evidence: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "root_cause": cause,
        "fault_types": kinds,
        "affected_resources": [],
        "severity": "high",
        "evidence": evidence,
        "remediation_plan": [],
        "gaps": [],
        "confidence": "high",
    }


def _function(request: ConverseRequest) -> str:
    found = re.search(r"Functions it is about: ([A-Za-z0-9_-]+)", alert_in(request))
    return found[1] if found else "unknown"


TWISTS: Mapping[str, Twist] = {
    "cites-tool-never-called": cites_tool_never_called,
    "right-tool-wrong-value": changes_value,
    "right-value-wrong-field": changes_field,
    "quotes-almost": quotes_almost,
    "invents-finding": invents_finding,
    "cites-other-incident": cites_other_incident,
    "basis-out-of-range": bases_out_of_range,
    "writes-endlessly": writes_endlessly,
}
BEHAVIOURS: Mapping[str, Callable[[int], Script]] = {
    "obeys-strangers": obeys_strangers,
    "never-submits": never_submits,
    "submits-first": submits_first,
    "loops-one-tool": loops_one_tool,
    "malformed-calls": malformed_calls,
    "huge-replies": writes_huge_replies,
}


def attack(name: str, seed: int) -> Script:
    if name in FORGERIES:
        return forged(FORGERIES[name], seed)
    return twisted(TWISTS[name], seed) if name in TWISTS else BEHAVIOURS[name](seed)


ATTACKS: tuple[str, ...] = (*TWISTS, *BEHAVIOURS, *FORGERIES)
