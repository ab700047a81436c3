"""Loads faults from data: `faults/<name>.yaml` says which lines a fault leaves in which daemon's log, and when.

A group is one kind of event: its `lines` are written at each of the minutes `at` before the fault's end, which is
a little before collection. A line that holds `text` counts the event, the others are its context. `vars` are drawn
once for the fault, `each` once for every event. `only` and `except` name layouts. `edits` change what a command
printed; `text` then shows the fault. A group or edit with `decoy: true` looks like trouble and is none;
so does `silent: true`, and no finding of any severity may name it.
`takes_noise` and `any_line` are told at `Mark` and `Problem`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from affidavit.evaluation.generator import data_files
from affidavit.evaluation.generator.daemon_events import DaemonEvent, Mark, pid_words
from affidavit.evaluation.generator.data_files import items, load, mapping, texts
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.text.template_slots import Writer


@dataclass(frozen=True, kw_only=True)
class PlantedEdit:
    """Every `find` in the file becomes `replace`; `text` then shows the fault. A decoy shows none."""

    fault: str
    file: str
    severity: str
    find: str
    replace: str
    text: str
    is_decoy: bool = False


def fault_names() -> tuple[str, ...]:
    return data_files.names("faults")


def planted(node: GeneratedNode, fault: str) -> Iterator[DaemonEvent]:
    described = _described(node, fault)
    writer = node.writer(f"fault/{fault}")
    end = node.spec.collected_at - timedelta(seconds=writer.rng.randrange(50))
    shared = _drawn(writer, mapping(described.get("vars")), {})
    for index, entry in enumerate(items(described.get("groups"))):
        group = mapping(entry)
        if not _applies(group, node):
            continue
        for at in _moments(node, writer, end, group["at"]):
            local = shared | pid_words(node, str(group["stream"]))
            local |= _drawn(writer, mapping(group.get("each")), local)
            yield from _event(writer, fault, index, group, at, local)


def edits(node: GeneratedNode, fault: str) -> Iterator[PlantedEdit]:
    writer = node.writer(f"edit/{fault}")
    for entry in items(_described(node, fault).get("edits")):
        edit = {name: writer.write(str(value)) for name, value in mapping(entry).items()}
        if _applies(mapping(entry), node):
            yield PlantedEdit(
                fault=fault,
                file=edit["file"],
                severity=edit.get("severity", ""),
                find=edit["find"],
                replace=edit["replace"],
                text=edit.get("text", ""),
                is_decoy=bool(mapping(entry).get("decoy")),
            )


def _described(node: GeneratedNode, fault: str) -> Mapping[str, object]:
    if fault in node.spec.own_faults:
        return node.spec.own_faults[fault]
    if fault not in fault_names():
        raise ValueError(f"no fault is called {fault!r}; there are {', '.join(fault_names())}")
    return load(f"faults/{fault}.yaml")


def _applies(entry: Mapping[str, object], node: GeneratedNode) -> bool:
    layout = node.spec.layout.value
    return ("only" not in entry or layout in texts(entry["only"])) and layout not in texts(entry.get("except"))


def _moments(node: GeneratedNode, writer: Writer, end: datetime, described: object) -> Iterator[datetime]:
    earliest = node.spec.booted_at + timedelta(minutes=2)
    for minutes in _minutes(described):
        fraction = timedelta(microseconds=writer.rng.randrange(500_000))
        yield max(earliest, end - timedelta(minutes=minutes)) + fraction


def _minutes(described: object) -> Iterator[float]:
    if steps := {name: float(str(number)) for name, number in mapping(described).items()}:
        yield from (steps["from"] - step * steps["every"] for step in range(int(steps["count"])))
    else:
        yield from (float(text) for text in texts(described))


def _event(
    writer: Writer,
    fault: str,
    index: int,
    group: Mapping[str, object],
    at: datetime,
    local: Mapping[str, str],
) -> Iterator[DaemonEvent]:
    key = writer.write(str(group.get("text", "")), at, local)
    is_decoy, is_silent = bool(group.get("decoy")), bool(group.get("silent"))
    for line in texts(group["lines"]):
        text = writer.write(line, at, local)
        mark = Mark(
            fault=fault,
            group=index,
            severity=str(group.get("severity")),
            text=key,
            is_key=key in text,
            takes_noise=bool(group.get("takes_noise")),
            any_line=bool(group.get("any_line")),
        )
        yield DaemonEvent(
            at=at, stream=str(group["stream"]), text=text, mark=None if is_decoy else mark, is_silent=is_silent
        )
        at += timedelta(microseconds=writer.rng.randint(8, 700))


def _drawn(writer: Writer, templates: Mapping[str, object], words: Mapping[str, str]) -> dict[str, str]:
    drawn: dict[str, str] = {}
    for name, template in templates.items():
        drawn[name] = writer.write(str(template), local={**words, **drawn})
    return drawn
