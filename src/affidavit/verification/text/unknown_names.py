"""Refuses names that no recorded answer contains: accounts, ARNs, roles, hosts, files, ids, versions, people, tickets.

A name may be used when a recorded answer holds it, the incident is about it, or it is a word of our own vocabulary.
Names that stand only in text which gives orders to its reader are refused, however they are spelt.
"""

import re
from collections.abc import Iterator

from affidavit.verification.text.allowed_words import is_call, is_compound, is_our_word
from affidavit.verification.text.copied_words import copied
from affidavit.verification.text.diagnosis_passages import Passage, Place
from affidavit.verification.text.disguised_names import is_opaque, names_hidden_in
from affidavit.verification.text.recorded_answers import Answers

_TOKEN = re.compile(r"[A-Za-z0-9/$][A-Za-z0-9._:/@+=*$#-]*[A-Za-z0-9*/]|[A-Za-z0-9]")
_QUOTED = "\"'`“”‘’()[]{}<>,;!?"
_UNIT_OF_NUMBER = re.compile(r"(?i)\d[\d,]*(\.\d+)?(%|x|ms|s|sec|min|h|kb|mb|gb|tb|kib|mib|gib|k|st|nd|rd|th|m|d)?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?Z?|\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?")
_SLASHED = re.compile(r"[A-Za-z]+(/[A-Za-z]+)+")
_ACCOUNT = re.compile(r"\d{12}")
_VERSION = re.compile(r"\d+(\.\d+){2,}\S*")
_CAMEL = re.compile(r"[A-Z]?[a-z0-9]+[A-Z]|[A-Z]{2,}[a-z]+[A-Z]")
_TICKET = re.compile(
    r"(?i)\b(?:ticket|case|incident|change request|issue|jira|pull request)\s*(?:no\.?|number|id)?\s*[#:]?\s*"
    r"(\d{3,})\b|#(\d+)\b"
)
# Written small, a library's name looks like any word; what follows "the module" is one.
_MODULE = re.compile(
    r"(?i)\b(?:the|a|missing) (?:python |node |native )?(?:module|library) ([a-z][a-z0-9_]{3,})"
    r"(?=\W*$|[.,;:)]| (?:is|was|which|that|from)\b)"
)
_SENTENCE = re.compile(r"(?:[.!?:;]\s+|\n+|^[\s\"'(]*|[\"“‘(]\s*)(?=[A-Z])")
_CAPITAL = re.compile(r"(?<![\w.@/-])[A-Z][a-z]+(?![\w@/-]|\.[a-z])")
_AGENT = re.compile(
    r"(?:^|[.!?:;]\s+)([A-Z][a-z]+) (?:has |had |have )?"
    r"(?:removed|changed|deleted|deployed|revoked|detached|lowered|raised|reduced|"
    r"approved|asked|confirmed|said|told|decided|set|turned|switched|rolled|pushed|merged|edited)\b"
)
_NOBODY = frozenset(
    re.findall(
        r"\w+",
        "somebody someone nobody it they we this that he she who which everything nothing everybody everyone people "
        "i a an the there no not in on at since after before and but only all each its their our if when while "
        "because so then here now",
    )
)


def unknown_names(passage: Passage, answers: Answers) -> Iterator[str]:
    """Problems, each naming the word."""
    for name in dict.fromkeys((*_identifiers(passage, answers), *_people(passage.text, answers))):
        yield f"{name[:80]!r} stands in no recorded answer: name only what a tool showed"
    for name in _tickets(passage.text, answers):
        yield f"{name!r} looks like the number of a ticket or case, and no answer holds it"


def names_from_orders(passage: Passage, answers: Answers) -> Iterator[str]:
    """Names and sentences taken from text that gives orders."""
    if not answers.orders:
        return
    for name in dict.fromkeys(names_hidden_in(passage.text, answers.names_ordered)):
        yield f"{name[:80]!r} stands only in text that gives orders to its reader: leave it out"
    if passage.place is Place.PLAN and (words := copied(passage.text, answers.orders)):
        yield f"{words!r} is what such text orders, word for word: leave it out"


def _identifiers(passage: Passage, answers: Answers) -> Iterator[str]:
    for raw in _TOKEN.findall(passage.text):
        token = raw.strip(_QUOTED).rstrip(".:,")
        if (_is_identifier(token) and not _is_known(token, passage.place, answers)) or (
            is_opaque(token) and not answers.holds(token)
        ):
            yield token


def _is_identifier(token: str) -> bool:
    """Whether a word can only be the name of one thing."""
    if (
        len(token) < 2
        or (_UNIT_OF_NUMBER.fullmatch(token) and not _ACCOUNT.fullmatch(token))
        or _CLOCK.fullmatch(token)
    ):
        return False
    if _ACCOUNT.fullmatch(token) or _VERSION.fullmatch(token):
        return True
    has_letters_and_digits = any(char.isdigit() for char in token) and any(char.isalpha() for char in token)
    has_joint = re.search(r"[A-Za-z0-9][._:/@=$-][A-Za-z0-9*$]", token) is not None or token.startswith("/")
    return has_letters_and_digits or has_joint or _CAMEL.match(token) is not None


def _is_known(token: str, place: Place, answers: Answers) -> bool:
    if is_our_word(token) or is_our_word(token.rstrip("s")) or answers.holds(token):
        return True
    if place is Place.PLAN and is_call(token):
        return True
    if "-" in token and not any(char.isdigit() for char in token) and is_compound(token):
        return True
    if _CAMEL.match(token) and re.search(rf"\b{re.escape(token.casefold())}\d", answers.corpus):
        return True  # CloudTrail adds the version of the API to some calls
    return any(answers.holds(form) for form in _forms(token)) or _are_parts_known(token, place, answers)


def _forms(token: str) -> Iterator[str]:
    """The same thing written shorter or longer: without a wildcard, a possessive, a plural, a scheme."""
    for ending in ("/*", "*", "'s", "’s", "s", "/"):
        if token.endswith(ending) and len(token) - len(ending) >= 3:
            yield token[: -len(ending)]
    if _CAMEL.match(token):
        yield from (f"{token}Exception", f"{token}Error")
    if token.startswith("/") and len(token) > 4:
        yield token[1:]


def _are_parts_known(token: str, place: Place, answers: Answers) -> bool:
    """`and/or`, `read/write`, `host:5432`, `key=value`, `a-role's`: joined words, each of them known or plain."""
    if token.startswith(("arn:", "http")) or "@" in token:
        return False
    parts = [part for part in re.split(r"[/:=]+|(?<=\w)--?(?=>)", token) if part]
    if len(parts) < 2:
        return False
    return all(_is_part_known(part, place, answers) for part in parts)


def _is_part_known(part: str, place: Place, answers: Answers) -> bool:
    if part.isalpha() and not _CAMEL.match(part):
        return True
    return not _is_identifier(part) or _is_known(part, place, answers)


def _people(text: str, answers: Answers) -> Iterator[str]:
    """Capitalised words inside a sentence, and single names that are said to have done something."""
    # A word that begins a sentence has a capital in any case.
    begins = {match.end() for match in _SENTENCE.finditer(text)}
    found = [match.group() for match in _CAPITAL.finditer(text) if match.start() not in begins]
    found += [match[1] for match in _AGENT.finditer(text)]
    found += [match[1] for match in _MODULE.finditer(text) if match[1] not in ("itself", "version", "search", "that")]
    for word in dict.fromkeys(one for one in found if one.casefold() not in _NOBODY):
        is_known = is_our_word(word) or is_our_word(word.rstrip("s")) or word.casefold() in answers.corpus
        if not is_known:
            yield word


def _tickets(text: str, answers: Answers) -> Iterator[str]:
    for found in _TICKET.finditer(text):
        number = found[1] or found[2]
        if not answers.holds(number) and all(one.number != int(number) for one in answers.numbers):
            yield number
