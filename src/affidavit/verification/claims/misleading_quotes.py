"""Refuses quotes that were cut so that they say something else: a negation, a digit or half a word left out."""

import re
from collections.abc import Iterator

from affidavit.evidence.diagnosis import EvidencePointer
from affidavit.ports.json import JsonValue
from affidavit.verification.claims.sentence_meanings import says

_NEGATED_BEFORE = re.compile(
    r"(?i)\b(not|no|never|cannot|can't|without|isn't|wasn't|neither|nor|fail(?:ed|s)? to|unable to|could not|couldn't)"
    r"\b\W*(?:[\w-]+\W+){0,3}$"
)
_BAD_AFTER = re.compile(
    r"(?i)^\s+(?:[\w-]+\s+){0,2}?(not|never|exceeded|failed|denied|refused|rejected|unavailable|timed out|killed)\b"
)
# The rest of a word whose meaning it turns.
_UNDONE = re.compile(r"(?i)(?<![a-z])(un|in|im|ir|il|dis|non-?|mis)$")
_CLAUSE = re.compile(r"[.;!?\n]\s*|: ")


def cut_quote(pointer: EvidencePointer, there: JsonValue) -> Iterator[str]:
    """`there` is the whole text that the pointer names."""
    quote = pointer.value
    if not isinstance(quote, str) or not isinstance(there, str) or quote == there or quote not in there:
        return
    start = there.index(quote)
    before, after = there[:start], there[start + len(quote) :]
    if _UNDONE.search(before) and quote[:1].isalpha():
        yield "the quote begins inside a word and leaves out what denies it: quote the whole word"
    elif any(number in pointer.interpretation for number in _cut_numbers(before, quote, after)):
        yield "the quote begins or ends inside a number: quote the whole of it"
    elif _says_otherwise(before, after, pointer.interpretation, quote):
        yield "the quote leaves out the words that turn its meaning: quote them, too"


def _cut_numbers(before: str, quote: str, after: str) -> Iterator[str]:
    """What the quote leaves of a number at its ends."""
    first, last = re.match(r"\d[\d.]*", quote), re.search(r"[\d.]*\d$", quote)
    if first and before[-1:].isdigit():
        yield first.group()
    if last and after[:1].isdigit():
        yield last.group()


def _says_otherwise(before: str, after: str, sentence: str, quote: str) -> bool:
    """A negation just before, or what went wrong just after; a sentence that denies has understood it."""
    if says("negation", sentence) or says("negation", quote):
        return False
    clause = _CLAUSE.split(before)[-1]
    rest = _CLAUSE.split(after)[0]
    is_question = re.match(r"[^.!\n]*\?", after) is not None and "?" not in quote
    is_denied_after = _BAD_AFTER.match(rest) is not None and says("good", sentence)
    return _NEGATED_BEFORE.search(clause) is not None or is_question or is_denied_after
