"""Log events as runs of the function, and the signs of failure in them. Positions are those of the recorded answer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import re2

from affidavit.yaml_text import load_yaml

# Words a program writes about its own work; AWS's own lines carry no level, or ERROR.
_CHATTER = re.compile(r"^\[?(INFO|DEBUG|TRACE)\]?\b|\t(INFO|DEBUG|TRACE)\t|\"level\":\s*\"(INFO|DEBUG|TRACE)\"", re.I)
_COMPLAINT = re.compile(r"^\[?(ERROR|WARN|WARNING)\]?\b|\t(ERROR|WARN)\t|\"level\":\s*\"(ERROR|WARN)", re.I)
_PLATFORM = re.compile(r"^(START|END|REPORT|INIT_START|INIT_REPORT|EXTENSION|XRAY)\b")
_BOUNDARY = re.compile(r"^(START|END|REPORT) RequestId: (\S+)")
_MEMORY = re.compile(r"Memory Size: (\d+) MB\s+Max Memory Used: (\d+) MB")
_STATUS = re.compile(r"\bStatus: (\w+)")
# Half a character: no pattern engine reads it, and no store keeps it.
_LONE = re.compile("[\ud800-\udfff]")
LEAST_RUNS_AFTER = 5


@dataclass(frozen=True, kw_only=True)
class Sign:
    """`event` is the position in `/events`; `quote` stands there letter for letter."""

    kind: str
    event: int
    quote: str
    name: str | None
    message: str


@dataclass(frozen=True, kw_only=True)
class Run:
    """`report` is the position of its REPORT line; None while it still goes on, or when it was never written."""

    start: int
    """The position of its first line."""
    is_cut: bool
    """Its first lines were not shown."""
    said: tuple[tuple[int, str], ...]
    """What its program wrote without being asked: lines of its own, with their positions, oldest first."""
    report: int | None
    signs: tuple[Sign, ...]
    status: str | None
    memory: tuple[int, int] | None
    """Size and most used, in megabytes."""

    @property
    def is_good(self) -> bool:
        return self.report is not None and not self.signs and self.status in (None, "success")


@dataclass(frozen=True, kw_only=True)
class History:
    """Runs, oldest first. Signs outside any run make a run of their own."""

    runs: tuple[Run, ...]

    def current(self, *kinds: str) -> list[Sign]:
        """The newest sign of each kind that has not been over for a while, newest first."""
        found = [sign for kind in kinds if (sign := self._newest(kind)) is not None]
        return sorted(found, key=lambda sign: sign.event)

    def has_passed(self, *kinds: str) -> bool:
        """One outbreak and a good run since. What comes and goes has not passed, however well the newest run went."""
        places = self._places(*kinds)
        is_one = all(later - earlier == 1 for earlier, later in pairwise(places))
        return bool(places) and is_one and self.runs[-1].is_good

    def good_since(self, sign: Sign) -> list[Run]:
        """Runs that started after the sign and went well; none of them counts where such signs come and go."""
        places = self._places(sign.kind)
        # Of a run whose beginning is not shown nobody knows how it went.
        good = [place for place, run in enumerate(self.runs) if run.is_good and not run.is_cut]
        if not places or any(places[0] < place < places[-1] for place in good):
            return []
        newest = min(one.event for one in self.runs[places[-1]].signs if one.kind == sign.kind)
        return [self.runs[place] for place in good if self.runs[place].start < newest]

    def newest_signs(self) -> list[Sign]:
        """The last of each kind."""
        return [self._last(kind) for kind in dict.fromkeys(sign.kind for run in self.runs for sign in run.signs)]

    def with_sign(self, kind: str) -> list[Run]:
        return [run for run in self.runs if any(sign.kind == kind for sign in run.signs)]

    def _last(self, kind: str) -> Sign:
        return next(sign for run in reversed(self.runs) for sign in reversed(run.signs) if sign.kind == kind)

    def _places(self, *kinds: str) -> list[int]:
        return [place for place, run in enumerate(self.runs) if any(sign.kind in kinds for sign in run.signs)]

    def _newest(self, kind: str) -> Sign | None:
        """What fails now and then is not over just because it pauses: it must be away longer than its usual gap."""
        places = self._places(kind)
        if not places:
            return None
        gaps = [later - earlier for earlier, later in pairwise(places)]
        away = len(self.runs) - 1 - places[-1]
        return None if away >= max(LEAST_RUNS_AFTER, 2 * max(gaps, default=0)) else self._last(kind)


def history(events: Sequence[Mapping[str, Any]]) -> History:
    """`events` are newest first, as the tool gives them."""
    return History(runs=tuple(_runs(events)))


def _runs(events: Sequence[Mapping[str, Any]]) -> Iterator[Run]:
    building: dict[str, list[int]] = {}
    order: list[str] = []
    open_id = ""
    for event in range(len(events) - 1, -1, -1):
        message = str(events[event].get("message", ""))
        boundary = _BOUNDARY.match(message)
        name = boundary[2] if boundary else _owner(message, building, open_id) or f"outside {event}"
        if name not in building:
            building[name] = []
            order.append(name)
        building[name].append(event)
        if boundary:
            open_id = "" if boundary[1] == "REPORT" else name
    for name in order:
        run = _run(events, building[name])
        if not name.startswith("outside") or run.signs:
            yield run


def _owner(message: str, building: Mapping[str, Any], open_id: str) -> str:
    """Runs interleave: a line that names its run belongs there, any other to the one that is open."""
    named = next((word for word in re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", message[:200]) if word in building), None)
    return named or open_id


def _run(events: Sequence[Mapping[str, Any]], places: Sequence[int]) -> Run:
    messages = {place: str(events[place].get("message", "")) for place in places}
    report = next((place for place in places if messages[place].startswith("REPORT ")), None)
    text = messages[report] if report is not None else ""
    status, memory = _STATUS.search(text), _MEMORY.search(text)
    signs = tuple(sign for place in places for sign in _signs(place, messages[place]))
    signed = {sign.event for sign in signs}
    return Run(
        start=places[0],
        is_cut=not messages[places[0]].startswith("START "),
        said=tuple((place, messages[place]) for place in places if place not in signed and _is_said(messages[place])),
        report=report,
        signs=signs,
        status=status[1] if status else None,
        memory=(int(memory[1]), int(memory[2])) if memory else None,
    )


def _is_said(message: str) -> bool:
    return _PLATFORM.match(message) is None and _COMPLAINT.search(message[:300]) is None


def _signs(event: int, message: str) -> Iterator[Sign]:
    if _CHATTER.search(message[:300]):
        return
    readable = _LONE.sub("\ufffd", message)
    for kind, pattern in patterns().items():
        match = pattern.search(readable)
        if match is not None:
            groups = match.groupdict()
            yield Sign(
                kind=kind,
                event=event,
                quote=_line_around(message, match.start()),
                name=groups.get("name"),
                message=message,
            )


def _line_around(message: str, place: int) -> str:
    """The line of the match, cut to what a reader needs."""
    start = message.rfind("\n", 0, place) + 1
    end = message.find("\n", place)
    line = message[start : end if end >= 0 else len(message)].rstrip()
    line = line if len(line) <= 400 else message[place : place + 300].split("\n")[0].rstrip()
    return max(_LONE.split(line), key=len)


@cache
def patterns() -> Mapping[str, Any]:
    return {sign["id"]: re2.compile(sign["match"]) for sign in signs()}


@cache
def signs() -> tuple[Mapping[str, Any], ...]:
    text = (Path(__file__).parent / "signs.yaml").read_text()
    return tuple(load_yaml(text))
