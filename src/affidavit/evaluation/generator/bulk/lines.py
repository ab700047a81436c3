"""Writes the lines of one big file: texts are cut at their time stamp once, then put together millions of times."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from random import Random

from affidavit.evaluation.generator.bulk.file_plan import BulkMember
from affidavit.evaluation.generator.data_files import items, load
from affidavit.evaluation.generator.node_identity import GeneratedNode
from affidavit.evaluation.generator.text.clock_text import stamp
from affidavit.evaluation.generator.text.template_slots import Writer

_BLOCK = 1 << 20
# Far more text than the 32 KiB that deflate looks back, so a repeated body does not compress better than a new one.
_BODIES = 4_096
_PODS = 400
_SOME_TIME = datetime(2026, 1, 15, tzinfo=UTC)

# A form's stamp: the part that changes with the second, whether a fraction follows, and what comes after it.
_STAMPS: dict[str, tuple[str, bool, str]] = {
    "journal": ("%b %d %H:%M:%S", False, " @{hostname} @{program}: "),
    "rsyslog": ("%b %e %H:%M:%S", False, " @{short_hostname} @{program}: "),
    "dmesg": ("", True, "] "),
    "dmesg-human": ("[%a %b %e %H:%M:%S %Y", False, "] "),
    "cri": ("%Y-%m-%dT%H:%M:%S.", True, "@{digits:3}Z @{program} F "),
    "zap": ("", False, ""),
    "raw": ("", False, ""),
}
# A daemon's own time: the part that changes with the second, digits of the fraction, and what comes after them.
_CLOCKS: dict[str, tuple[str, int, str]] = {
    "klog": ("%m%d %H:%M:%S.", 6, " @{padded_pid}"),
    "nano": ("%Y-%m-%dT%H:%M:%S.", 6, "@{digits:3}Z"),
    "micro": ("%Y-%m-%dT%H:%M:%S.", 6, "Z"),
    "millis": ("%Y-%m-%dT%H:%M:%S.", 3, "Z"),
    "comma": ("%Y-%m-%d %H:%M:%S,", 3, ""),
    "seconds": ("%Y-%m-%dT%H:%M:%S", 0, "Z"),
    "": ("", 0, ""),
}
_CLOCK_SLOT = re.compile(r"@\{(klog|nano|micro|millis|comma|seconds)\}")


@dataclass(frozen=True, kw_only=True)
class Body:
    """A line without its times: stamp, head, clock, tail make it whole."""

    head: bytes
    clock: str
    digits: int
    tail: bytes
    plant: tuple[str, int] | None = None


@dataclass(kw_only=True)
class SeenLines:
    count: int
    first_line: int
    first_offset: int
    last_line: int


@dataclass(kw_only=True)
class FileTally:
    lines: int = 0
    plants: dict[tuple[str, int], SeenLines] = field(default_factory=dict[tuple[str, int], SeenLines])

    def add(self, plant: tuple[str, int], offset: int) -> None:
        seen = self.plants.setdefault(
            plant, SeenLines(count=0, first_line=self.lines, first_offset=offset, last_line=0)
        )
        seen.count += 1
        seen.last_line = self.lines


class LineMill:
    """The lines of one member, in exactly the bytes it promises. `tally` is whole after the last block."""

    def __init__(
        self, node: GeneratedNode, member: BulkMember, density: float, noise: Sequence[Body], planted: Sequence[Body]
    ) -> None:
        self._node, self._member = node, member
        self._density = density if planted else 0.0
        self._has_fraction = _STAMPS[member.form][1]
        self._noise, self._planted = noise, planted
        self._clock = _Clock(node, member.form, (body.clock for body in (*noise, *planted)))
        self.tally = FileTally()

    def blocks(self) -> Iterator[bytes]:
        longest = 60 + max(len(body.head) + len(body.tail) for body in (*self._noise, *self._planted))
        room, block, held = self._member.size, list[bytes](), 0
        for line, plant in self._lines():
            if room - held < longest:
                break
            self.tally.lines += 1
            if plant:
                self.tally.add(plant, self._member.size - room + held)
            block.append(line)
            held += len(line)
            if held >= _BLOCK:
                yield b"".join(block)
                room, block, held = room - held, [], 0
        yield b"".join(block)
        yield self._last_line(room - held)

    def _last_line(self, room: int) -> bytes:
        """One more line of noise, cut or padded to what is left."""
        if room == 0:
            return b""
        self.tally.lines += 1
        body = min(self._noise, key=lambda each: len(each.head) + len(each.tail))
        line = self._line(self._clock.at(int(_uptime(self._node)) - 1), b"000000", body)
        return line[: min(len(line), room) - 1].ljust(room - 1) + b"\n"

    def _lines(self) -> Iterator[tuple[bytes, tuple[str, int] | None]]:
        rng = Random(f"{self._node.spec.seed}/bulk/{self._member.seed}")
        draw, choose, density = rng.random, rng.choice, self._density
        noise, planted = self._noise, self._planted
        pace = 2 * self._pace()
        now, current, second = 0.0, self._clock.at(0), 0
        while True:
            now += draw() * pace
            if int(now) != second:
                second = int(now)
                current = self._clock.at(second)
            fraction = b"%06d" % int((now - second) * 1_000_000)
            body = choose(planted) if draw() < density else choose(noise)
            yield self._line(current, fraction, body), body.plant

    def _line(self, second: "_Second", fraction: bytes, body: Body) -> bytes:
        own = second.stamp + fraction if self._has_fraction else second.stamp
        return own + body.head + second.clocks[body.clock] + fraction[: body.digits] + body.tail

    def _pace(self) -> float:
        """Seconds between two lines, so that the file spans the node's life whatever its size."""
        start, has_fraction, _ = _STAMPS[self._member.paced_form]
        stamps = len(stamp(self._node.spec.collected_at, start)) + 6 * has_fraction
        whole = sum(len(body.head) + len(body.tail) + _clock_size(body) for body in self._noise)
        usual = stamps + whole / len(self._noise)
        return 0.98 * _uptime(self._node) / max(1.0, self._member.paced_by / usual)


def _uptime(node: GeneratedNode) -> float:
    return (node.spec.collected_at - node.spec.booted_at).total_seconds()


def _clock_size(body: Body) -> int:
    return len(stamp(_SOME_TIME, _CLOCKS[body.clock][0])) + body.digits


@dataclass(frozen=True, kw_only=True)
class _Second:
    stamp: bytes
    clocks: Mapping[str, bytes]


class _Clock:
    """Writes a time after boot in the form that each part of a line needs.

    Patterns are filled once a minute, all but the seconds: a line must cost a microsecond.
    """

    def __init__(self, node: GeneratedNode, form: str, clocks: Iterable[str]) -> None:
        self._start = node.spec.booted_at.replace(second=0, microsecond=0)
        self._late = node.spec.booted_at.second
        self._form, self._clocks = form, sorted(set(clocks))
        self._minute = -1
        self._parts: list[list[bytes]] = []

    def at(self, second: int) -> _Second:
        minute, rest = divmod(second + self._late, 60)
        if minute != self._minute:
            self._minute = minute
            self._parts = self._filled(self._start + timedelta(minutes=minute))
        own, *clocks = ((b"%02d" % rest).join(parts) for parts in self._parts)
        if self._form == "dmesg":
            own = b"[%5d." % second
        return _Second(stamp=own, clocks=dict(zip(self._clocks, clocks, strict=True)))

    def _filled(self, moment: datetime) -> list[list[bytes]]:
        patterns = [_STAMPS[self._form][0], *(_CLOCKS[name][0] for name in self._clocks)]
        return [[stamp(moment, part).encode() for part in pattern.split("%S")] for pattern in patterns]


def noise_bodies(node: GeneratedNode, form: str, noise: Mapping[str, int], pipe: str) -> list[Body]:
    """A pool of lines to draw from, each with its own ids. A container's lines come from its `pipe`."""
    writer = _with_many_pods(node.writer(f"bulk/{sorted(noise.items())}"))
    texts = {stream: _texts(stream) for stream in noise}
    streams = [stream for stream, weight in noise.items() for _ in range(weight)]
    bodies: list[Body] = []
    while len(bodies) < _BODIES:
        stream = writer.rng.choice(streams)
        words = {"program": _program(node, form, stream, pipe), "padded_pid": _padded_pid(node, stream)}
        bodies.append(_body(writer, form, words, writer.rng.choice(texts[stream])))
    return bodies


def _with_many_pods(writer: Writer) -> Writer:
    """A node that runs for days sees far more pods than run on it at one time."""
    drawn = ("uid", "uid_", "sandbox", "cid", "volume", "veth")
    fresh = ("@{uuid}", "@{hex:32}", "@{hex:64}", "@{hex:64}", "kube-api-access-@{suffix:5}", "eni@{hex:11}")
    groups = {
        name: tuple(
            {
                **writer.rng.choice(choices),
                **{key: writer.write(slot) for key, slot in zip(drawn, fresh, strict=True)},
            }
            for _ in range(_PODS)
        )
        for name, choices in writer.groups.items()
    }
    return replace(writer, groups=groups)


def planted_bodies(node: GeneratedNode, member: BulkMember, planted: Mapping[str, Sequence[str]]) -> list[Body]:
    writer = node.writer("bulk/planted")
    return [
        _body(
            writer,
            member.form,
            {"program": program, "padded_pid": _padded_pid(node, stream)},
            _wrapped(member.form, program, text),
            plant=(stream, index),
        )
        for stream, program in member.planted.items()
        for index, text in enumerate(planted.get(stream, ()))
    ]


def _texts(stream: str) -> list[str]:
    data = load(f"noise/{stream}.yaml")
    steady = [str(line) for entry in items(data.get("steady")) for line in (items(entry) or [entry])]
    return steady or [str(items(entry)[1]) for entry in items(data.get("boot"))]


def _program(node: GeneratedNode, form: str, stream: str, pipe: str) -> str:
    if form == "cri":
        return pipe
    name = node.words.get(f"{stream}_program", stream)
    pid = node.words.get(f"{stream}_pid")
    return f"{name}[{pid}]" if pid and form == "journal" else name


def _padded_pid(node: GeneratedNode, stream: str) -> str:
    return f"{node.words.get(f'{stream}_pid', '1'):>7}"


def _wrapped(form: str, program: str, text: str) -> str:
    """A text alone becomes the message of the JSON line its daemon would have written."""
    if form != "zap" or text.startswith("{"):
        return text
    return f'{{"level":"error","ts":"@{{millis}}","caller":"{program}","msg":{json.dumps(text)}}}'


def _body(
    writer: Writer, form: str, words: Mapping[str, str], text: str, *, plant: tuple[str, int] | None = None
) -> Body:
    before, found, after = _cut(text)
    digits, rest = _CLOCKS[found][1:]
    now = writer.times["now"]
    return Body(
        head=writer.write(_STAMPS[form][2] + before, now, words).encode(),
        clock=found,
        digits=digits,
        tail=writer.write(f"{rest}{after}\n", now, words).encode(),
        plant=plant,
    )


def _cut(text: str) -> tuple[str, str, str]:
    if slot := _CLOCK_SLOT.search(text):
        return text[: slot.start()], slot[1], text[slot.end() :]
    return text, "", ""
