"""What only strangers said: identifiers in a diagnosis's own words that stand in free text and nowhere else.

Log lines, alerts and sentences inside answers are written by programs and by whoever feeds them. A quote of them is
evidence of what was written. But a plan that names what only such text names could be the stranger's plan.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from affidavit.agent.rules.wording import names_in
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.ports import JsonValue
from affidavit.verification.entry import Entry
from affidavit.workloads.denials import NAMED
from affidavit.workloads.records import TOOL_ARG_SCHEMAS

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+=*-]*[A-Za-z0-9*]")
# A plain word, number or time is nobody's identifier.
_PLAIN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+(\.[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z?")
_ACTION = re.compile(r"[a-z0-9-]+:[A-Z][A-Za-z*]+")


def hearsay(claimed: Diagnosis, entries: Sequence[Entry], functions: frozenset[str], alert: str = "") -> list[str]:
    """Problems, each naming its place. Quoted evidence values are not looked at: they are verified as quotes."""
    heard = [alert]
    known = [*functions, *TOOL_ARG_SCHEMAS]
    for entry in entries:
        for text, is_free in _texts(entry.answer, is_free=False):
            (heard if is_free else known).append(text)
    known += [name for text in heard for name in names_in(text)]
    known += [found["action"] for text in heard for found in NAMED.finditer(text)]
    return list(_problems(claimed, "\n".join(known), "\n".join(heard)))


def _problems(claimed: Diagnosis, known: str, heard: str) -> Iterator[str]:
    for place, text in _words_of(claimed):
        for token in dict.fromkeys(_TOKEN.findall(text)):
            if not _PLAIN.fullmatch(token) and token not in known and not _ACTION.fullmatch(token) and token in heard:
                yield (
                    f"{place}: {token[:80]!r} stands only in text that anybody could have written; "
                    "leave it out, and cite the evidence by its position instead"
                )


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
        yield value, is_free or re.search(r"\s", value) is not None
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, is_free=is_free)
