"""Tells runs apart by request id, also when they interleave, and says how each ended."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from affidavit.workloads.runs.error_type_and_message import error_in
from affidavit.workloads.runs.function_run import Ending, Run, Statement
from affidavit.workloads.runs.lines import Line, LineKind, LogLevel, json_object, read_line
from affidavit.workloads.runs.runtime_wordings import is_noise, is_unhandled

# Half a character: no pattern engine reads it, and no store keeps it.
_LONE = re.compile("[\ud800-\udfff]")
# A line that goes on with what the line before it said: frames, braces, quoted keys.
_CONTINUES = re.compile(
    r"\s|[}\])]|\"|at |Caused by: |\.\.\. \d+ more|goroutine \d|\[signal |main\.|created by |exit status|note: run with"
    r"|stack backtrace|<---|Traceback \(most|File \"|During handling of the above |The above exception was |$"
)
# After one of these, everything up to the next line with a prefix belongs to it.
_OPENS = re.compile(
    r"(Error raised from handler method|Init error when loading handler|panic: |fatal error: |thread '.*panicked"
    r"|Traceback \(most recent call last\)|\{\s*$)"
)
# The last line of a Python traceback: it stands at the margin, below its frames.
_RAISED = re.compile(r"[A-Za-z_][\w.]*(: |$)")
_TRACEBACK = "Traceback (most recent"
_LONGEST_STATEMENT = 80
_INIT_KINDS = (LineKind.INIT_START, LineKind.INIT_REPORT, LineKind.EXTENSION, LineKind.OTHER)


def read_runs(events: Sequence[Mapping[str, Any]]) -> tuple[Run, ...]:
    """Runs, oldest first, by their first line. `events` are newest first, as the tool answers them."""
    lines = [
        read_line(place, _LONE.sub("\ufffd", str(events[place].get("message", ""))))
        for place in range(len(events) - 1, -1, -1)
    ]
    return tuple(_run(request_id, group) for request_id, group in _grouped(lines))


@dataclass
class _Groups:
    """Lines by run, in the order in which the runs begin."""

    lines: dict[str, list[Line]] = field(default_factory=dict[str, list[Line]])
    open: list[str] = field(default_factory=list[str])
    """Runs that began and did not report yet, the newest last."""
    starting: list[Line] = field(default_factory=list[Line])
    """Lines of an environment that starts; its first run owns them."""
    loose: list[list[Line]] = field(default_factory=list[list[Line]])

    def add(self, line: Line) -> None:
        if line.kind is LineKind.START and line.request_id:
            self.lines.setdefault(line.request_id, []).extend([*self.starting, line])
            self.starting = []
            self.open.append(line.request_id)
        elif line.kind is LineKind.INIT_START:
            self._let_go()
            self.starting = [line]
        elif owner := self._owner(line):
            if owner not in self.lines:
                self.lines[owner] = self._adopted(line)
            self.lines[owner].append(line)
            if line.kind is LineKind.REPORT and owner in self.open:
                self.open.remove(owner)
        elif self.starting or line.kind in _INIT_KINDS:
            self.starting.append(line)
        elif self.loose and _follows(self.loose[-1], line):
            self.loose[-1].append(line)
        else:
            self.loose.append([line])

    def _owner(self, line: Line) -> str | None:
        """A line that names its run belongs there, any other to the run that began last, if that still goes on."""
        named = line.request_id
        if named is not None and (named in self.lines or line.kind is not LineKind.PROGRAM):
            return named
        if self.starting or line.kind in (LineKind.INIT_REPORT,):
            return None
        return self.open[-1] if self.open else None

    def _adopted(self, line: Line) -> list[Line]:
        """Lines right before the end of a run whose START is not shown are its last words."""
        is_end = line.kind in (LineKind.END, LineKind.REPORT, LineKind.CRASH, LineKind.TIMEOUT)
        return self.loose.pop() if is_end and self.loose and _follows(self.loose[-1], line, is_named=True) else []

    def _let_go(self) -> None:
        if self.starting:
            self.loose.append(self.starting)
            self.starting = []

    def finished(self) -> Iterator[tuple[str | None, list[Line]]]:
        self._let_go()
        groups: list[tuple[str | None, list[Line]]] = [*self.lines.items(), *((None, lines) for lines in self.loose)]
        yield from sorted(groups, key=lambda one: -one[1][0].place)


def _follows(block: Sequence[Line], line: Line, *, is_named: bool = False) -> bool:
    is_next = block[-1].place == line.place + 1
    return is_next and (
        block[0].request_id in (None, line.request_id) if is_named else line.request_id in (None, block[0].request_id)
    )


def _grouped(lines: Sequence[Line]) -> Iterator[tuple[str | None, list[Line]]]:
    groups = _Groups()
    for line in lines:
        groups.add(line)
    return groups.finished()


def _run(request_id: str | None, lines: Sequence[Line]) -> Run:
    statements = tuple(_statement(block) for block in _blocks(lines))
    platform = tuple(line for line in lines if line.kind is not LineKind.PROGRAM)
    report = next((line for line in reversed(platform) if line.kind is LineKind.REPORT), None)
    is_named_outside = request_id is None and next((line.request_id for line in lines if line.request_id), None)
    return Run(
        request_id=request_id or is_named_outside or None,
        places=tuple(line.place for line in lines),
        ending=_ending(report, platform, statements),
        statements=statements,
        platform=platform,
        report=report.place if report else None,
        is_cut=not any(line.kind is LineKind.START for line in lines),
        status=report.status if report else None,
        error_type=_error_type(platform),
        memory=report.memory if report else None,
        has_failed_init=_has_failed_init(platform),
    )


def _blocks(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Lines of the program, each with those that continue it."""
    block: list[Line] = []
    for line in lines:
        if line.kind is not LineKind.PROGRAM:
            continue
        if block and _continues(block, line):
            block.append(line)
            continue
        if block:
            yield block
        block = [line]
    if block:
        yield block


def _continues(block: Sequence[Line], line: Line) -> bool:
    if len(block) >= _LONGEST_STATEMENT:
        return False
    if line.has_prefix:
        return "errorType" in line.fields and _OPENS.match(block[0].text) is not None
    if block[-1].message.startswith(" ") and _RAISED.match(line.message):
        return any(one.message.startswith(_TRACEBACK) for one in block)
    is_open = _OPENS.match(block[0].text) is not None and block[-1].message != "}"
    return is_open or _CONTINUES.match(line.message) is not None


def _statement(block: Sequence[Line]) -> Statement:
    whole = "\n".join(line.message for line in block)
    text = "\n".join((block[0].text, *(line.message for line in block[1:])))
    fields = block[0].fields or (_joined_fields(text) if len(block) > 1 or "\n{" in text else {})
    # A prefix of the runtime's own may stand before what is noise.
    is_own = is_noise(whole) or is_noise(text)
    is_thrown = not is_own and is_unhandled(whole)
    level = LogLevel.ERROR if is_thrown else LogLevel.INFO if is_own else block[0].level or _level_of_traceback(block)
    return Statement(
        lines=tuple(block),
        level=level,
        text=text,
        error=error_in(whole if is_thrown and not fields else text, fields),
        is_unhandled=is_thrown,
        is_noise=is_own,
        fields=fields,
    )


def _level_of_traceback(block: Sequence[Line]) -> LogLevel | None:
    """A traceback without a level is a complaint: whoever wrote it did not say that all went well."""
    return LogLevel.ERROR if any(line.message.startswith(_TRACEBACK) for line in block) else None


def _joined_fields(text: str) -> dict[str, Any]:
    """A JSON object over several lines, as Ruby's runtime writes it."""
    start, end = text.find("{"), text.rfind("}")
    return json_object(text[start : end + 1]) if 0 <= start < end else {}


def _ending(report: Line | None, platform: Sequence[Line], statements: Sequence[Statement]) -> Ending:
    status = report.status if report else None
    crash = next((line for line in platform if line.kind is LineKind.CRASH), None)
    named = (report.error_type if report else None) or ""
    if status == "timeout" or any(line.kind is LineKind.TIMEOUT for line in platform):
        return Ending.TIMED_OUT
    if named == "Runtime.OutOfMemory" or (crash and "signal: killed" in crash.message):
        return Ending.KILLED
    if status in ("error", "failure") or crash or any(one.is_unhandled for one in statements):
        return Ending.FAILED
    if _has_failed_init(platform) or any(one.is_complaint for one in statements):
        return Ending.UNKNOWN
    return Ending.WELL if report else Ending.UNKNOWN


def _error_type(platform: Sequence[Line]) -> str | None:
    named = [line.error_type for line in platform if line.error_type and line.kind is not LineKind.EXTENSION]
    return named[-1] if named else None


def _has_failed_init(platform: Sequence[Line]) -> bool:
    return any(
        line.kind is LineKind.INIT_REPORT and line.status not in (None, "success", "succeeded") for line in platform
    )
