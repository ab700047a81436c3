"""What an error says has happened: wordings of services, drivers and runtimes, each with the fault it means.

One YAML file a family; earlier files win, and within a file earlier entries do. `match` is RE2, or a list of which any
may fit, and is searched in what was said, without stack frames. `says` is the cause in words; `{name}` is filled in
from the match. Where `unless` fits too, the entry does not: the text says more than this wording. An entry that is not
`sure` may mean something else as well. Samples are checked when it is loaded.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import re2

from affidavit.evidence.diagnosis import FaultType
from affidavit.workloads.runs.runtime_wordings import checked_pattern
from affidavit.yaml_loading import load_yaml

# Look-alikes before what they look like, causes before the words of whoever passed them on.
FAMILIES = (
    "lookalikes",
    "credentials",
    "denied",
    "limits",
    "memory",
    "throttled",
    "startup",
    "configuration",
    "network",
    "dependency",
    "code",
    "general",
)


@dataclass(frozen=True, kw_only=True)
class FailureKind:
    """`rank` orders kinds: of two that fit one text, the lower one is meant."""

    id: str
    family: str
    fault: FaultType
    says: str
    is_sure: bool
    rank: int
    pattern: Any
    unless: Any

    def found_in(self, text: str) -> Any:
        """RE2's match; None where it does not fit, or the text says more than this kind."""
        found = self.pattern.search(text)
        return None if found is not None and self.unless is not None and self.unless.search(text) else found


@dataclass(frozen=True, kw_only=True)
class Match:
    kind: FailureKind
    start: int
    names: Mapping[str, str]

    @property
    def says(self) -> str:
        """The cause in words; parts in brackets whose names the text does not give are left out."""
        return _filled(self.kind.says, self.names)


def matches(text: str) -> Iterator[Match]:
    """Every kind that fits, the likeliest first."""
    kinds = failure_kinds()
    for rank in sorted(_together().Match(text.encode("utf-8", "surrogatepass")) or ()):
        kind = kinds[rank]
        found = kind.found_in(text)
        if found is not None:
            names = {name: value for name, value in found.groupdict().items() if value}
            yield Match(kind=kind, start=found.start(), names=names)


@cache
def failure_kinds() -> tuple[FailureKind, ...]:
    entries = [(family, entry) for family in FAMILIES for entry in _entries(family)]
    return tuple(
        FailureKind(
            id=entry["id"],
            family=family,
            fault=FaultType(entry["fault"]),
            says=entry["says"],
            is_sure=entry.get("sure", True),
            rank=rank,
            pattern=checked_pattern(entry),
            unless=re2.compile(entry["unless"]) if "unless" in entry else None,
        )
        for rank, (family, entry) in enumerate(entries)
    )


@cache
def _together() -> re2.Set:
    """All patterns in one search, which is six times as fast as one search each. Answers with ranks."""
    options = re2.Options()
    options.max_mem = 64 << 20
    patterns = re2.Set.SearchSet(options)
    for kind in failure_kinds():
        patterns.Add(kind.pattern.pattern)
    patterns.Compile()
    return patterns


def _entries(family: str) -> list[Mapping[str, Any]]:
    return load_yaml((Path(__file__).parent / f"{family}.yaml").read_text())


def _filled(template: str, names: Mapping[str, str]) -> str:
    """`a [of {host} ]b`: a part in brackets stands only when all its names are known."""
    out: list[str] = []
    for number, part in enumerate(template.replace("]", "[").split("[")):
        wanted = [name.partition("}")[0] for name in part.split("{")[1:]]
        if number % 2 and any(name not in names for name in wanted):
            continue
        out.append(part.format_map({name: names.get(name, "?") for name in wanted}))
    return "".join(out)
