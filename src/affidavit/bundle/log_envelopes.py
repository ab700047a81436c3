"""Takes the line that a daemon wrote out of what another program wrapped around it.

journald's JSON, Docker's JSON, records of CloudWatch Logs, RFC 5424, `kubectl logs --prefix`, events of Windows in XML
that a daemon of the node wrote, colour codes. What comes out looks as the journal or a container's log would have it,
so it is recognised, matched and dated like any other line. Numbers, offsets and digests stay those of the stored line.
"""

import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from html import unescape
from typing import Any, cast

_BOM = b"\xef\xbb\xbf"
_ESCAPE = b"\x1b"
_COLOUR = re.compile(rb"\x1b\[[0-9;]*[mK]")
# What `journalctl -o json-seq` and `-o json-sse` put in front of a record.
_RECORD_MARKS = (b"\x1e", b"data: ")

_PRIORITY = re.compile(rb"<\d{1,3}>(?=[A-Z][a-z]{2} [ \d]\d \d\d:\d\d|\d{4}-\d\d-\d\dT)")
_STRUCTURED = rb'(?:-|(?:\[[^\s\]="]{1,64}(?: [^\s\]="]{1,64}="(?:[^"\\\]]|\\.)*")*\])+)'
# Time, host, program, process; then a message id and structured data. Streams put the length in front.
_RFC_5424 = re.compile(
    rb"(?:\d{1,7} )?<\d{1,3}>\d{1,2} (\d{4}-\d\d-\d\dT\S{8,24}) (\S{1,255}) (\S{1,64}) (\S{1,128}) \S{1,64} "
    + _STRUCTURED
    + rb"(?: (?:\xef\xbb\xbf)?|$)"
)
_POD = re.compile(rb"\[pod/[^\]\s]{1,512}\] ")
# The time that `kubectl logs --timestamps` puts in front of what a container wrote.
_POD_TIME = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{1,9}(?:Z|[+-]\d\d:\d\d)) "
    rb'(?=[IWEF]\d{4} \d\d:\d\d:|\{"|time="|\[(?:INFO|ERROR|WARNING|FATAL|PANIC|DEBUG)\] )'
)
# `journalctl -o short-unix`.
_EPOCH = re.compile(rb"(\d{10})\.(\d{6}) (?=\S+ [^\s\[:]+(?:\[\d+\])?: )")
# An event of Windows on one line: its provider, its time, and what it says. Looked for one after the other, so that no
# line takes more than linear time.
_PROVIDER = re.compile(rb"<Provider Name=['\"](kubelet|kube-proxy|containerd|dockerd|docker)['\"]")
_EVENT_TIME = re.compile(rb"SystemTime=['\"](\d{4}-\d\d-\d\dT[\d:.]{8,20}Z?)['\"]")
_EVENT_HEAD = 4000
_LOOKED_AT = re.compile(rb'"(?:MESSAGE|log|message)" ?:')
_CLOUDWATCH_KEYS = frozenset(
    ("timestamp", "message", "ingestionTime", "eventId", "logStreamName", "logGroupName", "@timestamp", "@message")
)
_NO_HOST = re.compile(r"\s+")
_NO_PROGRAM = re.compile(r"[\s\[:]+")
_SECOND = 1_000_000
# A container's JSON in a record of CloudWatch, a time behind the name of a pod: no real line has more around it.
_LAYERS = 3
# Of a block, so many lines at its beginning and its end tell whether it is wrapped.
_SAMPLED = 4


def unwrapped(line: bytes) -> bytes:
    """The line inside; the line itself where nothing is around it."""
    if line[:1] not in _FIRST_BYTES and _ESCAPE not in line:
        return line
    for _ in range(_LAYERS):
        inner = _without_layer(line)
        if inner == line:
            break
        line = inner
    return line


def _without_layer(line: bytes) -> bytes:
    bare = _COLOUR.sub(b"", line) if _ESCAPE in line else line
    bare = bare.removeprefix(_BOM)
    for mark in _RECORD_MARKS:
        bare = bare.removeprefix(mark)
    reader = _READERS.get(bare[:1])
    return bare if reader is None else reader(bare)


def is_wrapped(line: bytes) -> bool:
    return unwrapped(line) != line


def any_wrapped(block: bytes | bytearray, length: int) -> bool:
    """Whether a block of whole lines has wrapped ones, told by its first and last lines."""
    return any(map(is_wrapped, _sample(block, length)))


def has_colours(block: bytes | bytearray, length: int) -> bool:
    return block.find(_ESCAPE, 0, length) >= 0


def _sample(block: bytes | bytearray, length: int) -> Iterable[bytes]:
    start = 0
    for _ in range(_SAMPLED):
        end = block.find(b"\n", start, length)
        yield bytes(block[start : length if end < 0 else end])
        if end < 0:
            return
        start = end + 1
    end = length
    for _ in range(_SAMPLED):
        start = block.rfind(b"\n", 0, max(0, end - 1)) + 1
        yield bytes(block[start:end]).rstrip(b"\n")
        end = start


def _json_record(line: bytes) -> bytes:
    if _LOOKED_AT.search(line) is None:
        return line
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    if not isinstance(record, dict):
        return line
    fields = cast(dict[str, Any], record)
    return _journal(fields) or _container(fields) or _cloudwatch(fields) or line


def _journal(fields: dict[str, Any]) -> bytes | None:
    """journald gives a message that is no UTF-8 as a list of its bytes."""
    message, stamp = _text(fields.get("MESSAGE")), _time_of(fields.get("__REALTIME_TIMESTAMP"), _SECOND)
    if message is None or stamp is None:
        return None
    unit = str(fields.get("_SYSTEMD_UNIT") or "").removesuffix(".service")
    program = fields.get("SYSLOG_IDENTIFIER") or fields.get("_COMM") or unit or "unknown"
    process = fields.get("_PID") or fields.get("SYSLOG_PID")
    return _tagged(stamp, str(fields.get("_HOSTNAME") or "-"), str(program), process, message)


def _container(fields: dict[str, Any]) -> bytes | None:
    """Docker's json-file driver, and the agents that pass it on."""
    message, stamp = _text(fields.get("log")), fields.get("time") or fields.get("@timestamp")
    if message is None or not isinstance(stamp, str) or " " in stamp:
        return None
    stream = "stderr" if fields.get("stream") == "stderr" else "stdout"
    return f"{stamp} {stream} F ".encode("utf-8", "replace") + message


def _cloudwatch(fields: dict[str, Any]) -> bytes | None:
    """An event of CloudWatch Logs: nothing but a message and where it is from."""
    message = _text(fields.get("message") or fields.get("@message"))
    stamp = _time_of(fields.get("timestamp"), 1000)
    if message is None or stamp is None or not fields.keys() <= _CLOUDWATCH_KEYS:
        return None
    inner = _without_layer(message)
    return inner if inner != message else f"{stamp} stdout F ".encode() + message


def _text(value: object) -> bytes | None:
    if isinstance(value, str):
        found = value.encode("utf-8", "replace")
    elif isinstance(value, list) and all(isinstance(one, int) and 0 <= one < 256 for one in cast(list[Any], value)):
        found = bytes(cast(list[int], value))
    else:
        return None
    return found.rstrip(b"\r\n").replace(b"\n", b" ")


def _time_of(value: object, per_second: int) -> str | None:
    """A count since 1970 as ISO 8601."""
    if not isinstance(value, int | str) or not str(value).isascii() or not str(value).isdigit():
        return None
    try:
        seconds, rest = divmod(int(value), per_second)
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{rest * (_SECOND // per_second):06}+00:00"
    except (ValueError, OverflowError, OSError):
        return None


def _tagged(stamp: str, host: str, program: str, process: object, message: bytes) -> bytes:
    """As `journalctl -o short-iso-precise` prints it."""
    pid = f"[{process}]" if str(process or "").isdigit() else ""
    tag = f"{stamp} {_NO_HOST.sub('_', host)} {_NO_PROGRAM.sub('_', program)}{pid}: "
    return tag.encode("utf-8", "replace") + message


def _priority(line: bytes) -> bytes:
    if (found := _PRIORITY.match(line)) is not None:
        return line[found.end() :]
    return _rfc_5424(line)


def _angled(line: bytes) -> bytes:
    if line.startswith(b"<Event") and (event := _event(line)) is not None:
        return event
    return _priority(line)


def _event(line: bytes) -> bytes | None:
    program, time = _PROVIDER.search(line, 0, _EVENT_HEAD), _EVENT_TIME.search(line, 0, _EVENT_HEAD)
    start = line.find(b">", line.find(b"<Data")) + 1
    end = line.find(b"</Data>", start)
    if program is None or time is None or not 0 < start <= end:
        return None
    said = unescape(line[start:end].decode("utf-8", "replace")).replace("\n", " ")
    return _tagged(time[1].decode(), "-", program[1].decode(), None, said.encode("utf-8", "replace"))


def _rfc_5424(line: bytes) -> bytes:
    if (found := _RFC_5424.match(line)) is None:
        return line
    stamp, host, program, process = (part.decode("utf-8", "replace") for part in found.groups())
    return _tagged(stamp, host, program, process, line[found.end() :])


def _pod(line: bytes) -> bytes:
    found = _POD.match(line)
    return line if found is None else line[found.end() :]


def _digit(line: bytes) -> bytes:
    if (found := _POD_TIME.match(line)) is not None:
        return found[1] + b" stdout F " + line[found.end() :]
    if (found := _EPOCH.match(line)) is not None and (stamp := _time_of(int(found[1] + found[2]), _SECOND)):
        return stamp.encode() + b" " + line[found.end() :]
    return _rfc_5424(line)


_READERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"{": _json_record,
    b"<": _angled,
    b"[": _pod,
    **{b"%d" % digit: _digit for digit in range(10)},
}
# What a line with something around it begins with, unless that is a colour.
_FIRST_BYTES = frozenset((*_READERS, *(mark[:1] for mark in (_BOM, *_RECORD_MARKS))))
