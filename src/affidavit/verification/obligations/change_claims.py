"""Checks what a cause says about changes against the recorded changes: who made them, what they did, and when."""

import re
from collections.abc import Iterator

from affidavit.verification.obligations.recorded_incident_facts import ChangeCall, Situation
from affidavit.verification.text.text_problem import WordFinding
from affidavit.verification.text.word_patterns import sentences

_TAKES = re.compile(r"^(Delete|Detach|Revoke|Remove|Disassociate|Disable|Stop)")
_GIVES = re.compile(r"^(Put|Create|Attach|Authorize|Add|Associate|Enable)")
_DELETED = r"(?:deleted|detached|revoked)"
_RESTORED = r"(?:restored|re-?created|put (?:it )?back|added|attached|re-?attached|repaired)"
_CHANGE = (
    r"(?:change[ds]?|deploy\w*|PutRolePolicy|removed|revoked|deleted|lowered|raised|reduced|set|update[ds]?|detached|"
    r"restored|cut)"
)
_FAILURE = r"(?:fail\w*|errors?|denials?|denied|throttl\w*|incident|problem)"
_CHANGE_AFTER = re.compile(rf"(?i)\b{_CHANGE}\b[^.;]{{0,60}}\bafter\b[^.;]{{0,40}}\b(?:first )?{_FAILURE}")
_CHANGE_BEFORE = re.compile(rf"(?i)\b{_CHANGE}\b[^.;]{{0,60}}\bbefore\b[^.;]{{0,40}}\b(?:first )?{_FAILURE}")
_STRANGER = re.compile(
    r"(?i)\b((?:root|admin|anonymous) (?:user|account)|attacker|hacker|contractor|intern|employee|developer|"
    r"administrator)s?\b[^.;]{0,40}?"
    r"\b(?:deleted|removed|revoked|detached|changed|set|lowered|raised|reduced|disabled|put|restored)\b"
)
_CLAUSE = re.compile(
    r"[,;]| and (?=[\w.-]+ (?:has |had |then )?(?:deleted|detached|revoked|restored|put|added|attached|re))"
)


def change_findings(text: str, at: Situation) -> Iterator[WordFinding]:
    if not at.changes:
        return
    for sentence in sentences(text):
        yield from _strangers(sentence, at)
        for clause in _CLAUSE.split(sentence):
            yield from _who(clause, at)
        yield from _order(sentence, at)


def _strangers(sentence: str, at: Situation) -> Iterator[WordFinding]:
    """Somebody whom no recorded change names is said to have made one."""
    for found in _STRANGER.finditer(sentence):
        if not any(found[1].casefold() in one.user.casefold() for one in at.changes):
            yield WordFinding(says=f"no recorded change was made by {found[1]!r}", is_refused=True)


def _who(clause: str, at: Situation) -> Iterator[WordFinding]:
    for user in {one.user for one in at.changes if one.user and one.user in clause}:
        own = [one for one in at.changes if one.user == user]
        name = re.escape(user)
        deleted = re.search(rf"(?i){name} (?:has |had |then )?{_DELETED}|{_DELETED}[^,;]{{0,40}} by {name}", clause)
        restored = re.search(rf"(?i){name} (?:has |had |then )?{_RESTORED}|{_RESTORED}[^,;]{{0,40}} by {name}", clause)
        if deleted and not any(_TAKES.match(one.call) for one in own) and any(_GIVES.match(one.call) for one in own):
            yield WordFinding(says=f"{user} is recorded with {own[0].call}, which deletes nothing", is_refused=True)
        if restored and all(_TAKES.match(one.call) for one in own):
            yield WordFinding(says=f"{user} is recorded with {own[0].call}, which takes away", is_refused=True)


def _order(sentence: str, at: Situation) -> Iterator[WordFinding]:
    first = next((run.at for run in at.failing if run.at is not None), None)
    times = [one.at for one in at.changes if one.at is not None]
    if first is None or not times:
        return
    if _CHANGE_AFTER.search(sentence) and all(moment < first for moment in times):
        yield WordFinding(says="the recorded change came before the first failing run", is_refused=True)
    if _CHANGE_BEFORE.search(sentence) and all(moment > first for moment in times):
        yield WordFinding(says="the recorded change came after the first failing run", is_refused=True)
    if re.search(rf"(?i)\b{_RESTORED}\b first\b[^.]*\b{_DELETED}\b", sentence):
        yield from _restored_first(at.changes)


def _restored_first(changes: tuple[ChangeCall, ...]) -> Iterator[WordFinding]:
    dated = sorted((one for one in changes if one.at is not None), key=lambda one: one.at or 0)  # type: ignore[arg-type, return-value] - dated
    if dated and _TAKES.match(dated[0].call):
        yield WordFinding(says=f"the first recorded change is {dated[0].call}", is_refused=True)
