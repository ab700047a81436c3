"""Decides whether a denial is over: a later run succeeded, and nothing read shows it still denied.

A run that went well proves little by itself: it may have had nothing to read. So it must repeat, in its own words, what
the denied run said until it was denied. Where neither says anything, AWS's reason has to be gone as well.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from affidavit.agent.rules.failure_reasons import Reason
from affidavit.agent.rules.ledger_facts import Facts
from affidavit.agent.rules.permissions.denial_causes import decision_on
from affidavit.agent.rules.permissions.policies import Document, matching
from affidavit.agent.rules.run_history import PastRun
from affidavit.workloads.denials import Denial, denials_in
from affidavit.workloads.logs import ONLY_NEWEST

NOT_SIMULATED = ("resource-based policy", "VPC endpoint policy", "service control policy", "session policy")
_REASON_OF_SILENCE = "no identity-based policy allows"
# A run that says nothing may be one that had nothing to do; two of them are less likely to.
LEAST_SILENT = 2
SILENT_GAP = "the later runs log nothing of their own, so that they did what was denied before is not shown"

# What differs from run to run: keys below a bucket or host, request ids, times and other numbers.
_VARYING = (
    (re.compile(r"(\b\w{1,20}://[^/\s]+)\S*"), r"\1"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}"), "#"),
    (re.compile(r"\d+"), "#"),
)


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """`run` went well after the denial, if one did; `gap` says what that leaves open."""

    run: PastRun | None
    gap: str = ""


def recovery(facts: Facts, denial: Denial | None, reason: Reason) -> Recovery | None:
    """None while it may still be denied."""
    if denial is None:
        return None
    if decision_on(facts, denial) is not None:
        return _by_simulator(facts, denial, reason)
    return _by_runs(facts, denial, reason)


def _by_simulator(facts: Facts, denial: Denial, reason: Reason) -> Recovery | None:
    """IAM's simulator allows it now, and a run did well: then it is over.

    What the simulator does not know of may still deny it now and then, so there the last runs count.
    """
    decision = decision_on(facts, denial)
    if decision is None or decision[1].get("decision") != "allowed":
        return None
    newest = facts.history.runs[-1]
    later = [newest] if newest.is_good else facts.history.good_since(reason)
    if any(who in reason.raw for who in NOT_SIMULATED):
        return None if _is_in_last_runs(facts, reason) else Recovery(run=later[-1] if later else None)
    return Recovery(run=later[-1]) if later else None


def _is_in_last_runs(facts: Facts, reason: Reason) -> bool:
    return any(one.event == reason.event for run in facts.history.runs[-20:] for one in run.reasons) and any(
        one.family == "denied" for run in facts.history.runs[-3:] for one in run.reasons
    )


def _by_runs(facts: Facts, denial: Denial, reason: Reason) -> Recovery | None:
    """Without a verdict of IAM's: the policies grant it by now, and the log shows it done since."""
    is_elsewhere = "explicit deny" in reason.raw or any(who in reason.raw for who in NOT_SIMULATED)
    is_reason_gone = _REASON_OF_SILENCE in reason.raw
    if is_elsewhere or not _is_granted(facts, denial) or not _is_enough(facts.logs, is_reason_gone=is_reason_gone):
        return None
    first = _first_of_its_run(facts, denial, reason)
    if first is None:
        return None
    until, later = _said_until(facts, first), facts.history.good_since(reason)
    # What was denied after something else had failed may be part of no run that goes well.
    if is_reason_gone or denial in _denials(first):
        same = [run for run in later if until and until <= _words([text for _, text in run.said])]
        if same:
            return Recovery(run=same[-1])
    silent = [run for run in later if not until and not run.said]
    return Recovery(run=silent[-1], gap=SILENT_GAP) if is_reason_gone and len(silent) >= LEAST_SILENT else None


def _first_of_its_run(facts: Facts, denial: Denial, reason: Reason) -> Reason | None:
    """The first denial of the run; of one whose beginning is not shown, that of the newest run denied the same."""
    denied = facts.history.with_reason(reason.label)
    own = next(run for run in denied if reason in run.reasons)
    alike = [run for run in denied if any(denial in _denials(one) for one in run.reasons)]
    run = own if not own.run.is_cut else alike[-1]
    told = [one for one in run.reasons if one.label == reason.label]
    return None if run.run.is_cut else max(told, key=lambda one: one.event)


def _said_until(facts: Facts, reason: Reason) -> set[str]:
    run = next(run for run in facts.history.runs if reason in run.reasons)
    return _words([text for place, text in run.said if place > reason.event])


def _denials(reason: Reason) -> list[Denial]:
    return denials_in(reason.raw)


def _is_enough(logs: Mapping[str, Any], *, is_reason_gone: bool) -> bool:
    """Nothing is missing since the denial. Older outbreaks matter unless what caused this one is gone."""
    events = cast("Sequence[Mapping[str, Any]]", logs.get("events") or ())
    unread = cast("Sequence[Mapping[str, Any]]", logs.get("not_read") or ())
    if any(event.get("omitted_characters") for event in events):
        return False
    is_only_older = bool(unread) and all(part.get("why") == ONLY_NEWEST for part in unread)
    return logs.get("is_complete") is True or (is_reason_gone and is_only_older)


def _words(lines: Sequence[str]) -> set[str]:
    for pattern, instead in _VARYING:
        lines = [pattern.sub(instead, line) for line in lines]
    return set(lines)


def _is_granted(facts: Facts, denial: Denial) -> bool:
    """By the role's own policies and its boundary, under no condition, with no Deny anywhere and nothing unread."""
    unread = cast("Sequence[Mapping[str, Any]]", facts.iam.get("not_read") or ())
    if not facts.iam or any(not str(part.get("what")).startswith("simulation of ") for part in unread):
        return False
    own = [*_documents(facts, "inline_policies"), *_documents(facts, "attached_policy_documents")]
    others = _documents(facts, "resource_policies")
    boundaries = [facts.iam.get("permissions_boundary_document")] if facts.iam.get("permissions_boundary") else []
    if not all(_is_policy(document) for document in (*own, *others, *boundaries)):
        return False
    limits = [own, *([cast("Document", boundary)] for boundary in boundaries)]
    forbids = [one for one in matching(others, denial.action, denial.resource) if one.effect == "Deny"]
    return not forbids and all(_grants(documents, denial) for documents in limits)


def _documents(facts: Facts, group: str) -> list[Document]:
    return list(cast("Mapping[str, Document]", facts.iam.get(group) or {}).values())


def _is_policy(document: object) -> bool:
    """A view may leave a long document out, and what it forbids with it."""
    return isinstance(document, Mapping) and "Statement" in document


def _grants(documents: Sequence[Document], denial: Denial) -> bool:
    found = matching(documents, denial.action, denial.resource)
    is_allowed = any(one.effect == "Allow" and not one.body.get("Condition") for one in found)
    return is_allowed and all(one.effect == "Allow" for one in found)
