"""Checks processes with `ps`, /proc and `top`: their number, states, environments, waiting times and memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf

from affidavit.checks.computation_results import Found, NotComputable, Shown
from affidavit.checks.compute.sysctl import SYSCTLS, settings_of
from affidavit.checks.number_parsing import decimal, whole
from affidavit.checks.numbered_lines import Document, named

PS = "system/ps.txt"
TOP = "system/top.txt"
_PER_GIGABYTE = {"KiB": 1 << 20, "MiB": 1 << 10, "GiB": 1}
_TICKS = 100  # of /proc/<pid>/stat a second, on every EKS kernel


@dataclass(frozen=True)
class Process:
    line: int
    pid: int
    state: str
    command: str


def processes_of(document: Document) -> Iterator[Process]:
    """Rows of `ps aux`; without its header nothing is read."""
    state = -1
    for number, text in document.lines():
        words = text.split(None, 10)
        if "PID" in words and "STAT" in words:
            state = words.index("STAT")
        elif state >= 0 and len(words) == 11 and (pid := whole(words[1])) is not None:
            yield Process(number, pid, words[state], words[10])


def in_state(
    documents: Sequence[Document], *, state: str, called: str, at_least: int, of: tuple[str, ...] = ()
) -> Iterator[Found]:
    """Processes in a state; `of` are the only commands that count."""
    if (document := named(documents, PS)) is None:
        return
    processes = [
        process
        for process in processes_of(document)
        if process.state.startswith(state) and (not of or process.command.lstrip("[").startswith(of))
    ]
    if len(processes) >= at_least:
        for process in processes:
            yield Shown(document.path, process.line, f"{len(processes)} processes are {called}")


def pids(documents: Sequence[Document], *, from_percent: float) -> Iterator[Found]:
    """Every thread takes a pid, and the smaller of the two limits is reached first."""
    sysctls = named(documents, SYSCTLS)
    count, unit = _tasks(documents)
    if sysctls is None or not count:
        return
    settings = settings_of(sysctls)
    limits = [(settings[name], name) for name in ("kernel.pid_max", "kernel.threads-max") if name in settings]
    known = [(limit, line, name) for (line, text), name in limits if (limit := whole(text))]
    for limit, line, name in sorted(known)[:1]:
        if 100 * count / limit >= from_percent:
            yield Shown(sysctls.path, line, f"{count} {unit} are {100 * count // limit} % of {name} ({limit})")


def missing_process(documents: Sequence[Document], *, process: str, beside: str, expected_by: str) -> Iterator[Found]:
    """No `process` although a file at `expected_by` says that it belongs here; `beside` shows the list is usable."""
    document = named(documents, PS)
    if document is None or not any(f"/{expected_by}/" in each.path for each in documents):
        return
    processes = list(processes_of(document))
    anchor = next((each for each in processes if runs(each, beside)), None)
    is_whole = document.data.endswith(b"\n")
    if anchor and is_whole and not any(runs(each, process) for each in processes):
        yield Shown(document.path, anchor.line, f"{beside} runs, {process} is not among {len(processes)} processes")
    elif not processes:
        yield NotComputable(document.path, f"lists no processes, so whether {process} runs is unknown")


def large_environments(documents: Sequence[Document], *, above: int) -> Iterator[Found]:
    for document in documents:
        for number, text in document.lines():
            words = [whole(word) for word in text.split()]
            if len(words) == 2 and words[0] is not None and words[1] is not None and words[1] > above:
                yield Shown(document.path, number, f"process {words[0]} has {words[1]} environment variables")


def io_delay(documents: Sequence[Document], *, seconds: float, percent: float) -> Iterator[Found]:
    """Time a process waited for disks since it began. The youngest process, the collector's, tells the time now."""
    for document in documents:
        delays = [delay for number, text in document.lines() if (delay := _delay(number, text))]
        now = max((delay.started for delay in delays), default=0)
        for delay in delays:
            waited, lived = delay.ticks / _TICKS, (now - delay.started) / _TICKS
            if lived > 0 and waited >= seconds and 100 * waited / lived >= percent:
                share = round(100 * waited / lived)
                detail = f"{delay.command} waited {waited:.0f} s for disks, {share} % of the time since it began"
                yield Shown(document.path, delay.line, detail)


def memory_available(
    documents: Sequence[Document], *, below_percent: float, from_percent: float = 0, below_gigabytes: float = inf
) -> Iterator[Found]:
    """The head of `top`, in KiB or MiB: the total stands on the Mem line, the available on the Swap line."""
    for document in documents:
        total = 0.0
        for number, text in document.lines():
            head, _, values = text.partition(":")
            words = values.replace(",", " ").split()
            if head.rstrip().endswith(" Mem") and "total" in words[1:2]:
                total = decimal(words[0]) or 0.0
            elif head.rstrip().endswith(" Swap") and words[-2:] == ["avail", "Mem"]:
                free = decimal(words[-3]) if len(words) > 2 else None
                per_gigabyte = _PER_GIGABYTE.get(head.split()[0], 1)
                if free is None or total <= 0 or free >= below_gigabytes * per_gigabyte:
                    return
                if from_percent <= 100 * free / total < below_percent:
                    yield Shown(document.path, number, f"{100 * free / total:.1f} % of the memory is available")
                return


def memory_hog(documents: Sequence[Document], *, from_percent: float, below_percent: float) -> Iterator[Found]:
    """The process that holds so much of the memory of a node that has hardly any left."""
    for document in documents:
        if any(isinstance(found, Shown) for found in memory_available([document], below_percent=below_percent)):
            for row in _rows_of_top(document):
                if row.memory >= from_percent:
                    yield Shown(document.path, row.line, f"{row.command} holds {row.memory:g} % of the node's memory")


def pressure(documents: Sequence[Document], *, line: str, from_percent: float) -> Iterator[Found]:
    """/proc/pressure: the share of the last five minutes in which `some` or all (`full`) tasks were stalled."""
    for document in documents:
        for number, text in document.lines():
            words = text.split()
            averages = [decimal(word.removeprefix("avg300=")) for word in words if word.startswith("avg300=")]
            if words[:1] == [line] and averages and averages[0] is not None and averages[0] >= from_percent:
                yield Shown(document.path, number, f"tasks were stalled {averages[0]:g} % of the last five minutes")


@dataclass(frozen=True)
class _Row:
    """A process in `top`: its shares of one processor and of all memory."""

    line: int
    cpu: float
    memory: float
    command: str


def memory_held(documents: Sequence[Document], *, by: tuple[str, ...], from_percent: float) -> Iterator[Found]:
    """A daemon of these names that holds so much of the node's memory."""
    for document in documents:
        for row in _rows_of_top(document):
            if row.command in by and row.memory >= from_percent:
                yield Shown(document.path, row.line, f"{row.command} holds {row.memory:g} % of the node's memory")


def processors_taken(
    documents: Sequence[Document], *, idle_below: float, from_percent: float, unless: tuple[str, ...]
) -> Iterator[Found]:
    """The process that takes most of the processors, when hardly any time is left for others.

    `unless` are programs that the collector itself starts.
    """
    for document in documents:
        rows = list(_rows_of_top(document))
        busiest = max(rows, key=lambda row: row.cpu, default=None)
        idle = _idle(document)
        if busiest is None or idle is None or idle >= idle_below or busiest.command in unless:
            continue
        if busiest.cpu >= max(from_percent, sum(row.cpu for row in rows) / 2):
            detail = f"{busiest.command} takes {busiest.cpu:g} % of a processor, {idle:g} % of all are idle"
            yield Shown(document.path, busiest.line, detail)


def _idle(document: Document) -> float | None:
    for _, text in document.lines():
        head, _, shares = text.partition(":")
        if head.strip() in ("%Cpu(s)", "Cpu(s)"):
            told = [share.split() for share in shares.replace("%", " ").split(",")]
            return next((decimal(words[0]) for words in told if words[1:] == ["id"]), None)
    return None


def _rows_of_top(document: Document) -> Iterator[_Row]:
    """The rows below the header of `top`; without it nothing is read."""
    head: list[str] = []
    for number, text in document.lines():
        words = text.split()
        if {"PID", "%CPU", "%MEM", "COMMAND"} <= set(words):
            head = words
        elif head and len(words) >= len(head):
            cpu, memory = (decimal(words[head.index(name)]) for name in ("%CPU", "%MEM"))
            if cpu is not None and memory is not None:
                yield _Row(number, cpu, memory, words[head.index("COMMAND")])


@dataclass(frozen=True)
class _Delay:
    line: int
    command: str
    started: int
    ticks: int


def _delay(number: int, text: str) -> _Delay | None:
    """One /proc/<pid>/stat: the name is in parentheses and may hold any character, so count from its end."""
    head, bracket, tail = text.rpartition(")")
    fields = tail.split()
    if not bracket or len(fields) < 40:
        return None
    started, ticks = whole(fields[19]), whole(fields[39])
    if started is None or ticks is None:
        return None
    return _Delay(number, head.partition("(")[2], started, ticks)


def _tasks(documents: Sequence[Document]) -> tuple[int, str]:
    """The largest count of any list: a list may hold only the first rows."""
    return max(_listed(documents), _counted_by_top(documents))


def _counted_by_top(documents: Sequence[Document]) -> tuple[int, str]:
    """`Threads: 812 total, …` or `Tasks: 301 total, …` in the head of top."""
    if document := named(documents, TOP):
        for _, text in document.lines():
            head, _, values = text.partition(":")
            words = values.split()
            if head in ("Threads", "Tasks") and words[1:2] in (["total"], ["total,"]):
                return whole(words[0]) or 0, "threads" if head == "Threads" else "processes"
    return 0, ""


def _listed(documents: Sequence[Document]) -> tuple[int, str]:
    if document := named(documents, "system/ps-threads.txt"):
        rows = (text.split(None, 3) for _, text in document.lines())
        count = sum(1 for row in rows if len(row) > 3 and row[1].isdigit() and row[2].isdigit())
        if count > 1:
            return count, "threads"
    if document := named(documents, PS):
        return sum(1 for _ in processes_of(document)), "processes"
    return 0, ""


def runs(process: Process, program: str) -> bool:
    """`ps f` draws the process tree in front of the command."""
    words = process.command.lstrip(" |\\_").split(None, 1)
    return bool(words) and words[0].rpartition("/")[2] == program
