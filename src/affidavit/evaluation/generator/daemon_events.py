"""Makes the noise that a node's healthy daemons log since boot. `faults.py` makes the planted faults."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import cast

from affidavit.evaluation.generator.data_files import items, load
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.text.template_slots import Writer


@dataclass(frozen=True, kw_only=True)
class Mark:
    """The fault that a planted line belongs to. Lines of its event without `text` are context.

    `takes_noise`: noise lines that contain `text` are context too: a start at boot is one of many starts.
    """

    fault: str
    group: int
    severity: str
    text: str
    is_key: bool
    takes_noise: bool = False
    any_line: bool = False


@dataclass(frozen=True, kw_only=True)
class DaemonEvent:
    at: datetime
    stream: str
    text: str
    mark: Mark | None = None
    is_silent: bool = False
    """A near-miss that nothing may name, not even as a note."""


def pid_words(node: GeneratedNode, stream: str) -> dict[str, str]:
    return {"pid": node.words.get(f"{stream}_pid", "1")}


def noise(node: GeneratedNode, stream: str, recipe: str) -> list[DaemonEvent]:
    """Healthy lines of one stream, oldest first."""
    data = load(f"noise/{recipe}.yaml")
    writer = node.writer(f"noise/{stream}")
    steady = [_lines(entry) for entry in items(data.get("steady"))]
    wanted = round(node.spec.noise_lines * float(str(data.get("share", 1)))) if steady else 0
    events = list(_boot(node, stream, items(data.get("boot")), writer))
    while wanted > 0:
        lines = writer.rng.choice(steady)
        events += sequence(writer, _moment(node, writer), stream, lines, pid_words(node, stream))
        wanted -= len(lines)
    past = [event for event in events if event.at <= node.spec.collected_at]
    return sorted(past, key=lambda event: event.at)


def sequence(
    writer: Writer, at: datetime, stream: str, lines: Sequence[str], local: Mapping[str, str]
) -> Iterator[DaemonEvent]:
    """One event in several lines, some milliseconds apart, all about the same pod."""
    bound = {**local}
    for group, choices in writer.groups.items():
        bound |= {f"{group}.{key}": value for key, value in writer.rng.choice(choices).items()}
    for line in lines:
        yield DaemonEvent(at=at, stream=stream, text=writer.write(line, at, bound))
        at += timedelta(microseconds=writer.rng.randint(90, 9000))


def _boot(node: GeneratedNode, stream: str, entries: Sequence[object], writer: Writer) -> Iterator[DaemonEvent]:
    for entry in entries:
        offset, text = cast(list[object], entry)
        at = node.spec.booted_at + timedelta(seconds=float(str(offset)))
        at += timedelta(microseconds=writer.rng.randrange(900))
        yield DaemonEvent(at=at, stream=stream, text=writer.write(str(text), at, pid_words(node, stream)))


def _moment(node: GeneratedNode, writer: Writer) -> datetime:
    start = node.spec.booted_at + timedelta(minutes=4)
    end = node.spec.collected_at - timedelta(seconds=6)
    span = max(1, int((end - start).total_seconds() * 1_000_000))
    return start + timedelta(microseconds=writer.rng.randrange(span))


def _lines(entry: object) -> tuple[str, ...]:
    return tuple(str(line) for line in items(entry)) or (str(entry),)
