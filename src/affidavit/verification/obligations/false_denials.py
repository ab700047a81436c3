"""Refuses sentences that deny what the recorded answers show: failures, throttles, denials, changes, warnings."""

import re
from collections.abc import Iterator, Mapping, Sequence

from affidavit.evidence.diagnosis import FaultType
from affidavit.verification.claims.sentence_meanings import says
from affidavit.verification.obligations.recorded_incident_facts import LOGS, Situation, texts_of
from affidavit.verification.text.recorded_answers import Answers
from affidavit.verification.text.word_patterns import sentences

_NO = (
    r"\b(?:no|not a(?: single)?|never|without(?: any| a)?|zero|free of|nor|neither|did not|didn't|none of the)\b"
    r"(?:\s+[\w-]+){0,3}?\s+"
)
_THROTTLED = re.compile(rf"(?i){_NO}(?:throttl\w*)|\bthrottl\w+ (?:did not|didn't|never|was not)")
_DENIED = re.compile(rf"(?i){_NO}(?:denials?|denied|access ?denied\w*)")
_FAILED = re.compile(
    r"(?i)\bno (?:run|invocation|call)s? (?:has |have |had )?failed|"
    r"\b(?:had|has|have|holds?|were|was|are|is|there) no (?:failures?|errors?)\b"
    r"|\bno (?:failures?|errors?) (?:occurred|happened|were|was|is|are|at)"
)
_PARTLY = re.compile(
    r"(?i)\b(part|returned|shown|in sight|I have|this run|that run|one run|other|further|only|so far|visible)\b"
)
_CHANGED = re.compile(
    r"(?i)\bnothing was changed|\bno (?:[\w-]+ ){0,5}?(?:changes?|changed)\b|\bchanges? (?:is|are) [\w ]*empty"
    r"|\bno (?:deployment|release|update)s? (?:took|happened|was|were)"
    r"|\b(?:wasn't|weren't|was not|were not|not been|never|isn't) (?:touched|changed|modified)|\bhas always been\b"
)
_OTHER = re.compile(r"(?i)\b(other|further|else|apart)\b")
_WARNED = re.compile(r"(?i)\bno warnings?\b")
_NONE_AT_ALL = re.compile(r"(?i)\bno ([a-z]{4,}) (?:of any kind|at all|whatsoever|whatever|exists?|is there)\b")
_NAMED = re.compile(
    r"\b(?:no|without(?: an?| any)?|not an?|holds no|has no)\s+"
    r"`?([A-Z][\w]*-[A-Z][\w-]*|[A-Z]\w*(?:Exception|Error|Denied))\b"
)
_AREAS: tuple[tuple[str, str], ...] = (
    (r"security group|egress|ingress", r"SecurityGroup"),
    (r"role|polic|permission|iam", r"Role|Policy|User|Group[A-Z]|Permission"),
    (r"deploy|code|release", r"UpdateFunctionCode|PublishVersion|UpdateAlias"),
    (r"configur|memory|function|setting|timeout", r"Function|EventSource|Concurrency"),
    (r"route|network|subnet|nat", r"Route|Nat|Subnet|Acl|Vpc"),
)


def denied_facts(text: str, at: Situation, answers: Answers) -> Iterator[str]:
    for sentence in sentences(text):
        yield from _of_runs(sentence, at)
        yield from _of_changes(sentence, at)
        for found in _NAMED.finditer(sentence):
            if answers.holds(found[1]):
                yield f"it denies {found[1]!r}, which stands in an answer"
        yield from _of_lists(sentence, at)
        if _WARNED.search(sentence) and any(re.search(r"\bWARN", text) for text in texts_of(at.answer(LOGS))):
            yield "it denies warnings, and the log holds some"
        if says("explicit", sentence) and _is_implicit(at):
            yield "it speaks of an explicit deny, and the simulator says implicitDeny"


def _of_runs(sentence: str, at: Situation) -> Iterator[str]:
    if _THROTTLED.search(sentence) and at.metric("throttles"):
        yield "it denies throttles, and there are some"
    if _DENIED.search(sentence) and FaultType.PERMISSION_LOSS in at.shown:
        yield "it denies a denial that a failing run shows"
    if _FAILED.search(sentence) and not _PARTLY.search(sentence) and (at.metric("errors") or at.failing):
        yield "it denies failures, and there are some"


def _of_lists(sentence: str, at: Situation) -> Iterator[str]:
    """`no endpoint of any kind` where the answer lists one."""
    for found in _NONE_AT_ALL.finditer(sentence):
        noun = found[1].casefold().rstrip("s")
        for entry in at.entries:
            listed = entry.answer.get(f"{noun}s") if isinstance(entry.answer, Mapping) else None
            if isinstance(listed, Sequence) and listed:
                yield f"it denies {found[1]!r}, and {entry.tool} lists some"


def _of_changes(sentence: str, at: Situation) -> Iterator[str]:
    if not _CHANGED.search(sentence) or not at.changes or _OTHER.search(sentence):
        return
    areas = [calls for words, calls in _AREAS if re.search(rf"(?i)\b(?:{words})", sentence)]
    concerned = [one for one in at.changes if not areas or any(re.search(area, one.call) for area in areas)]
    if concerned:
        yield f"it denies a change, and {concerned[0].call} is recorded"


def _is_implicit(at: Situation) -> bool:
    decisions = {str(one.get("decision")) for one in at.decisions}
    return "implicitDeny" in decisions and "explicitDeny" not in decisions
