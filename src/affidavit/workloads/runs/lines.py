"""Reads one log event: Lambda's own line or the program's, its request, its level, and what it says.

Lambda writes text (`START RequestId: …`) or JSON (`{"type": "platform.start", …}`). Programs write in the format of
their runtime's logger or of a library. A line that fits no format is a line of the program without a level.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, cast


class LineKind(StrEnum):
    START = "start"
    END = "end"
    REPORT = "report"
    INIT_START = "init_start"
    INIT_REPORT = "init_report"
    EXTENSION = "extension"
    CRASH = "crash"
    """Lambda says that the runtime ended: `RequestId: … Error: Runtime exited …`."""
    TIMEOUT = "timeout"
    OTHER = "other"
    """Anything else that Lambda writes: X-Ray, telemetry subscriptions, image settings."""
    PROGRAM = "program"


class LogLevel(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, kw_only=True)
class Line:
    """`place` is the position in the recorded answer; `text` is what is said behind the logger's prefix."""

    place: int
    message: str
    kind: LineKind
    text: str
    request_id: str | None = None
    level: LogLevel | None = None
    has_prefix: bool = False
    """A logger's prefix begins the line, so it continues no earlier one."""
    fields: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: str | None = None
    error_type: str | None = None
    memory: tuple[int, int] | None = None
    """Size and most used, in megabytes."""
    phase: str | None = None


UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_UUID = re.compile(UUID)
_BOUNDARY = re.compile(r"(START|END|REPORT) RequestId: (\S+)")
_CRASH = re.compile(rf"RequestId: ({UUID}|\S+) (?:Process exited before completing request|Error: )")
_TIMEOUT = re.compile(rf"\S+ ({UUID}|\S+) Task timed out after [0-9.]+ seconds")
_OWN = (
    (re.compile(r"INIT_START\b"), LineKind.INIT_START),
    (re.compile(r"(INIT_REPORT|RESTORE_REPORT)\b"), LineKind.INIT_REPORT),
    (re.compile(r"EXTENSION\t"), LineKind.EXTENSION),
    (re.compile(r"(XRAY|TELEMETRY|LOGS|IMAGE|RESTORE_START|PLATFORM)\b"), LineKind.OTHER),
)
_PLATFORM_TYPES = {
    "platform.start": LineKind.START,
    "platform.end": LineKind.END,
    "platform.report": LineKind.REPORT,
    "platform.initStart": LineKind.INIT_START,
    "platform.initReport": LineKind.INIT_REPORT,
    "platform.extension": LineKind.EXTENSION,
    "platform.fault": LineKind.CRASH,
}
_STATUS = re.compile(r"\bStatus: (\w+)")
_ERROR_TYPE = re.compile(r"\bError Type: (\S+)")
_PHASE = re.compile(r"\bPhase: (\w+)")
_MEMORY = re.compile(r"Memory Size: (\d+) MB\s+Max Memory Used: (\d+) MB")

_LEVELS = {
    **dict.fromkeys(("error", "err", "fatal", "critical", "crit", "severe", "fail", "panic", "emerg"), LogLevel.ERROR),
    **dict.fromkeys(("alert", "erro", "fata", "ftl", "pani"), LogLevel.ERROR),
    **dict.fromkeys(("warn", "warning", "wrn"), LogLevel.WARNING),
    **dict.fromkeys(("inf", "dbg", "vrb", "debu", "trac"), LogLevel.INFO),
    **dict.fromkeys(
        ("info", "information", "notice", "debug", "dbug", "trace", "trce", "verbose", "fine"), LogLevel.INFO
    ),
}
# The prefixes of Lambda's own loggers, then the usual libraries'.
_PREFIXES = (
    re.compile(r"\[(?P<level>[A-Z]+)\]\t(?:\S+Z\t(?P<id>\S*)\t)?(?P<text>.*)", re.DOTALL),
    re.compile(r"\d{4}-\d\d-\d\dT\S+\t(?P<id>\S+)\t(?P<level>[A-Za-z]+)\t(?P<text>.*)", re.DOTALL),
    re.compile(r"[DIWEFA], \[[^\]]*\]\s+(?P<level>[A-Z]+) (?P<id>\S*) ?-- [^:]*: (?P<text>.*)", re.DOTALL),
    re.compile(r"time=\S+ level=(?P<level>\w+) (?:msg=)?(?P<text>.*)", re.DOTALL),
    re.compile(
        r"(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d:\d\d[.,]?\d*Z?\S{0,6}\s+(?:UTC )?(?:\|? ?[\w.-]+ \| )?(?:\[[^\]]*\]\s+)?"
        rf"(?:{UUID}\s+)?(?:\|\s*)?\[?(?P<level>FATAL|CRITICAL|ERROR|SEVERE|WARN|WARNING|INFO|DEBUG|TRACE)\]?\b"
        r"(?P<text>.*)",
        re.DOTALL,
    ),
    re.compile(
        r"\[?(?P<level>FATAL|CRITICAL|ERROR|SEVERE|WARN|WARNING|INFO|DEBUG|TRACE)\]?[ :\t](?P<text>.*)", re.DOTALL
    ),
    # Java's thread first, java.util.logging, Serilog, Microsoft's console, NLog, logrus.
    re.compile(
        r"\[[^\]\n]{1,80}\]\s+(?P<level>FATAL|ERROR|SEVERE|WARN|WARNING|INFO|DEBUG|TRACE)\b(?P<text>.*)", re.DOTALL
    ),
    re.compile(
        r"[A-Z][a-z]{2} \d\d, \d{4},? \d{1,2}:\d\d:\d\d.[AP]M [^\n]*\n(?P<level>[A-Z]+): (?P<text>.*)", re.DOTALL
    ),
    re.compile(r"\[\d\d:\d\d:\d\d (?P<level>[A-Z]{3})\] (?P<text>.*)", re.DOTALL),
    re.compile(r"(?P<level>fail|crit|warn|info|dbug|trce): [\w.`]+\[\d+\]\s*(?P<text>.*)", re.DOTALL),
    re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[.,]\d+\|(?P<level>[A-Za-z]+)\|(?P<text>.*)", re.DOTALL),
    re.compile(r"(?P<level>ERRO|WARN|INFO|FATA|PANI|DEBU)\[\d+\] (?P<text>.*)", re.DOTALL),
    re.compile(r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d+)? (?P<text>.*)", re.DOTALL),
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_LEVEL_KEYS = (
    *("level", "log_level", "levelname", "severity", "@l", "lvl", "loglevel", "log.level"),
    *("LogLevel", "Level", "logLevelName", "level_name", "severityText", "priority"),
)
# Objects inside a record in which some loggers keep the level.
_LEVEL_HOLDERS = ("log", "record", "_meta", "fields", "level")
_REQUEST_KEYS = (
    "requestId",
    "function_request_id",
    "aws_request_id",
    "awsRequestId",
    "AWSRequestId",
    "AwsRequestId",
    "request_id",
    "lambda_request_id",
)
# Bunyan and pino write numbers.
_NUMBERED = ((50, LogLevel.ERROR), (40, LogLevel.WARNING), (0, LogLevel.INFO))
_ID_WITHIN = 300
_UNREADABLE = "\ufffd \t\n"


def read_line(place: int, message: str) -> Line:
    if message.lstrip(_UNREADABLE).startswith("{"):
        fields = json_object(message.strip(_UNREADABLE))
        if fields:
            return _from_json(place, message, fields)
    return _own_text(place, message) or _program(place, message)


def json_object(text: str) -> dict[str, Any]:
    """The JSON object that the text is; empty when it is none."""
    try:
        found = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _from_json(place: int, message: str, fields: dict[str, Any]) -> Line:
    kind = str(fields.get("type", ""))
    if kind.startswith("platform."):
        return _platform(place, message, kind, fields.get("record"))
    return Line(
        place=place,
        message=message,
        kind=LineKind.PROGRAM,
        text=message,
        request_id=_request_of(fields) or _named_id(message),
        level=_level_of(fields),
        has_prefix=True,
        fields=fields,
    )


def _platform(place: int, message: str, kind: str, record: object) -> Line:
    told = _mapping(record)
    numbers = _mapping(told.get("metrics"))
    size, used = numbers.get("memorySizeMB"), numbers.get("maxMemoryUsedMB")
    return Line(
        place=place,
        message=message,
        kind=_PLATFORM_TYPES.get(kind, LineKind.OTHER),
        text=str(record) if isinstance(record, str) else message,
        request_id=_text(told.get("requestId")) or _named_id(message),
        has_prefix=True,
        status=_text(told.get("status")),
        error_type=_text(told.get("errorType")),
        memory=(int(size), int(used)) if isinstance(size, int) and isinstance(used, int) else None,
        phase=_text(told.get("phase")),
    )


def _own_text(place: int, message: str) -> Line | None:
    """Lambda's own line in the text format."""
    if boundary := _BOUNDARY.match(message):
        return _own(place, message, LineKind(boundary[1].lower()), boundary[2])
    if crash := _CRASH.match(message):
        return _own(place, message, LineKind.CRASH, crash[1])
    if timeout := _TIMEOUT.match(message):
        return _own(place, message, LineKind.TIMEOUT, timeout[1])
    kind = next((kind for pattern, kind in _OWN if pattern.match(message)), None)
    return _own(place, message, kind, None) if kind else None


def _own(place: int, message: str, kind: LineKind, request_id: str | None) -> Line:
    status, failed, phase, memory = (pattern.search(message) for pattern in (_STATUS, _ERROR_TYPE, _PHASE, _MEMORY))
    is_told = kind in (LineKind.REPORT, LineKind.INIT_REPORT, LineKind.EXTENSION)
    return Line(
        place=place,
        message=message,
        kind=kind,
        text=message,
        request_id=request_id,
        has_prefix=True,
        status=status[1] if status and is_told else None,
        error_type=failed[1] if failed and is_told else None,
        memory=(int(memory[1]), int(memory[2])) if memory else None,
        phase=phase[1] if phase else None,
    )


def _program(place: int, message: str) -> Line:
    plain = _ANSI.sub("", message)
    for pattern in _PREFIXES:
        found = pattern.match(plain)
        if found is not None and (told := found.groupdict()):
            level = _LEVELS.get((told.get("level") or "").lower())
            if told.get("level") and level is None:
                continue
            text = told["text"].lstrip()
            return Line(
                place=place,
                message=message,
                kind=LineKind.PROGRAM,
                text=text,
                request_id=_named_id(message),
                level=level,
                has_prefix=True,
                fields=_embedded(text),
            )
    return Line(
        place=place,
        message=message,
        kind=LineKind.PROGRAM,
        text=plain,
        request_id=_named_id(message),
        fields=_embedded(plain),
    )


def _embedded(text: str) -> dict[str, Any]:
    """The JSON object that ends the text, as in Node's `Invoke Error {…}` and Go's log lines."""
    start = text.find("{")
    return json_object(text[start:].strip()) if 0 <= start < 200 else {}


def _named_id(message: str) -> str | None:
    found = _UUID.search(message[:_ID_WITHIN])
    return found[0] if found else None


def _request_of(fields: Mapping[str, Any]) -> str | None:
    places = [fields, *(_mapping(inner) for inner in fields.values())]
    named = (_text(place.get(key)) for place in places for key in _REQUEST_KEYS)
    return next((name for name in named if name and _UUID.fullmatch(name)), None)


def _level_of(fields: Mapping[str, Any]) -> LogLevel | None:
    for key in _LEVEL_KEYS:
        value = fields.get(key)
        if isinstance(value, str) and value.lower() in _LEVELS:
            return _LEVELS[value.lower()]
        if isinstance(value, int) and not isinstance(value, bool):
            return next(level for number, level in _NUMBERED if value >= number or number == 0)
    inside = (fields[key] for key in _LEVEL_HOLDERS if isinstance(fields.get(key), Mapping))
    held = next((level for one in inside if (level := _held_level(one)) is not None), None)
    # Datadog's name for the level; anybody's `status` otherwise, so an error has to stand beside it.
    is_status = fields.get("status") == "error" and isinstance(fields.get("error"), Mapping)
    return LogLevel.ERROR if is_status else held


def _held_level(inside: Mapping[str, Any]) -> LogLevel | None:
    """`{"level": "ERROR"}`, or Loguru's `{"level": {"name": "ERROR"}}`."""
    named = _text(inside.get("name"))
    return _LEVELS.get((named or "").lower()) or _level_of(inside)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
