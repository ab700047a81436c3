"""What only strangers said: identifiers in a diagnosis's own words that stand in free text and nowhere else.

Log lines, alerts and sentences inside answers are written by programs and by whoever feeds them. A quote of them is
evidence of what was written. But a plan that names what only such text names could be the stranger's plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from affidavit.agent.disguise import copied, is_opaque, names_hidden_in, squeezed, tokens_of
from affidavit.agent.rules.wording import names_in
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.ports import JsonValue
from affidavit.verification.entry import Entry
from affidavit.workloads.denials import BY_OPERATION, NAMED
from affidavit.workloads.records import TOOL_ARG_SCHEMAS

# Everybody's words for what AWS says; they name nothing that could be acted on.
_CODES = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "ResourceNotFoundException"})
_ADVICE = "leave it out, and cite the evidence by its position instead"


@dataclass(frozen=True, kw_only=True)
class _Told:
    """`known` stands in answers as a value of its own, `names` are AWS's own words, `heard` is anybody's text."""

    known: str
    names: frozenset[str]
    heard: str

    def is_known(self, token: str) -> bool:
        return token in self.names or token in self.known

    def is_known_squeezed(self, core: str) -> bool:
        return core in self._squeezed_known or core in self._squeezed_names

    @cached_property
    def _squeezed_known(self) -> str:
        return squeezed(self.known)

    @cached_property
    def _squeezed_names(self) -> frozenset[str]:
        return frozenset(squeezed(name) for name in self.names)


def hearsay(claimed: Diagnosis, entries: Sequence[Entry], functions: frozenset[str], alert: str = "") -> list[str]:
    """Problems, each naming its place. Quoted evidence values are not looked at: they are verified as quotes."""
    heard, known = [alert], [*functions, *TOOL_ARG_SCHEMAS]
    for entry in entries:
        for text, is_free in _texts(entry.answer, is_free=False):
            (heard if is_free else known).append(text)
    names = _CODES.union(name for text in heard for name in _names_of_runtimes(text))
    told = _Told(known="\n".join(known), names=names, heard="\n".join(heard))
    return [*_of_names(claimed, told), *_of_sentences(claimed, told)]


def _names_of_runtimes(text: str) -> Iterator[str]:
    yield from names_in(text)
    yield from (found["action"] for found in NAMED.finditer(text))
    yield from (found["operation"] for found in BY_OPERATION.finditer(text))


def _of_names(claimed: Diagnosis, told: _Told) -> Iterator[str]:
    hidden = names_hidden_in(told.heard, told.is_known, told.is_known_squeezed)
    for place, text in _words_of(claimed):
        plain = (token for token in tokens_of(text) if token in told.heard and not told.is_known(token))
        for token in dict.fromkeys((*plain, *hidden(text))):
            yield f"{place}: {token[:80]!r} stands only in text that anybody could have written; {_ADVICE}"
        for token in tokens_of(text):
            if is_opaque(token) and not told.is_known(token):
                yield f"{place}: nobody can read {token[:80]!r}, and no answer holds it; leave it out"


def _of_sentences(claimed: Diagnosis, told: _Told) -> Iterator[str]:
    """A plan in the very words of a log line, though no name is in it."""
    for number, step in enumerate(claimed.remediation_plan):
        words = copied(f"{step.action}\n{step.details}", told.heard)
        if words is not None and words not in " ".join(told.known.split()).casefold():
            yield f"remediation_plan[{number}]: {words!r} is what a log or an alert says, word for word; {_ADVICE}"


def _words_of(claimed: Diagnosis) -> Iterator[tuple[str, str]]:
    yield "root_cause", claimed.root_cause
    for number, name in enumerate(claimed.affected_resources):
        yield f"affected_resources[{number}]", name
    for number, step in enumerate(claimed.remediation_plan):
        yield f"remediation_plan[{number}]", f"{step.action}\n{step.details}"
    for number, pointer in enumerate(claimed.evidence):
        yield f"evidence[{number}].interpretation", pointer.interpretation
    for number, gap in enumerate(claimed.gaps):
        yield f"gaps[{number}]", gap


def _texts(value: JsonValue, *, is_free: bool) -> Iterator[tuple[str, bool]]:
    """Every text inside, and whether it is free text: a log message, or anything with words in it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key, False
            yield from _texts(inner, is_free=key == "message")
    elif isinstance(value, str):
        yield value, is_free or any(char.isspace() for char in value)
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, is_free=is_free)
