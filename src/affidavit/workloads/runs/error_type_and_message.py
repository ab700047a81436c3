"""The type and message of an error, in the shape of any runtime or logger."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorText:
    """`type` is None when only words were written."""

    type: str | None
    message: str


# The program's wrapper around the real error, which stands inside it.
_WRAPPERS = frozenset(
    {"Runtime.UnhandledPromiseRejection", "Runtime.Unknown", "wrapError", "Runtime.UncaughtException"}
)
_TYPE_KEYS = ("errorType", "type", "name", "exception_name", "kind", "class", "error.type", "exc_type", "error_type")
_MESSAGE_KEYS = (
    "errorMessage",
    "message",
    "msg",
    "localizedMessage",
    "error.message",
    "exception_message",
    "error_message",
    "Message",
    "text",
)
# Where loggers put an error: an object, a traceback, or plain words.
_ERROR_KEYS = (
    "reason",
    "error",
    "err",
    "exception",
    "thrown",
    "exc_info",
    "cause",
    "@x",
    "stack_trace",
    "stackTrace",
    "traceback",
    "errorVerbose",
    "failure",
)
_SAID_KEYS = ("message", "msg", "event", "@m", "@mt", "text", "log")

_STACK_KEYS = ("stack", "stackTrace", "stacktrace", "StackTrace")
_CLASS = r"[A-Za-z_$][\w$]*(?:[.:]{1,2}[A-Za-z_$][\w$]*)*"
_KNOWN = rf"{_CLASS}(?:Error|Exception|Fault|Failure|Timeout|NotFound|Rejection|Exit|Interrupt|Panic|Warning)"
_PYTHON = re.compile(rf"\[ERROR\] (?P<type>{_CLASS})(?:: (?P<message>.*?))?(?=\n\s*Traceback|\r|\Z)", re.DOTALL)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):")
_LAST = re.compile(rf"^(?P<type>{_CLASS})(?:: (?P<message>.*))?$", re.MULTILINE)
# .NET writes a number behind the class, `SocketException (111)`, and Java's generics a tick, `ProduceException`2[…]`.
_DETAIL = r"(?:`\d\S*)?(?: \([^)\n]*\)| \[[A-Z_]+\])?"
_CAUSED = re.compile(
    rf"^\s*(?:Caused by: |-+> |\[?cause\]?: \[?)(?P<type>{_CLASS}){_DETAIL}(?:: (?P<message>.*))?$", re.MULTILINE
)
_EMPTY = re.compile(
    r"Exception of type '[^']*' was thrown\.?\s*$|\(no message\)|null$|One or more errors occurred\.?\s*$|$"
)
_JAVA = re.compile(r"^(?P<message>.*): (?P<type>(?:[a-z_][\w$]*\.)+[A-Z][\w$]*)\s*$")
_ANY = re.compile(rf"(?:^|[\s(>]){_KNOWN}{_DETAIL}: ", re.MULTILINE)
_NAMED = re.compile(rf"(?P<type>{_KNOWN}){_DETAIL}: (?P<message>.*)")
_BOTO = re.compile(
    r"An error occurred \((?P<type>[\w.]+)\) when calling the \w+ operation(?: \([^)]*\))?: (?P<message>.*)"
)
_PANIC = re.compile(r"^(?P<type>panic|fatal error): (?P<message>.*)$", re.MULTILINE)
_RUST = re.compile(r"panicked at (?:'(?P<old>.*)', \S+|\S+:\s*\n(?P<new>.*))")
_CRASH = re.compile(r"RequestId: \S+ Error: (?P<message>[^\n]*)(?:\n(?P<type>[\w.]+))?")
_FRAME = re.compile(
    r"^\s*(?:at |File \"|\.\.\. \d+ more|in <module>|\^+|~+|from /|goroutine \d|main\.\S+\(|created by "
    r"|\S+\.(?:go|rb|rs|py):\d+|note: run with|stack backtrace|\d+: 0x|<---|\d+: \S+::)"
)
_CODE = re.compile(r"^\s{4,}\S")
_LONGEST = 20_000


def error_in(text: str, fields: Mapping[str, Any]) -> ErrorText | None:
    """The innermost error that is told; None when the text tells none."""
    text = text[:_LONGEST]
    if fields and (told := _structured(fields)) is not None:
        return told
    return _plain(text)


def without_frames(text: str) -> str:
    """The text without stack frames and quoted source lines: they hold names of code, not of what happened."""
    kept: list[str] = []
    is_after_frame = False
    for line in text.splitlines():
        is_frame = _FRAME.match(line) is not None
        if not is_frame and not (is_after_frame and _CODE.match(line)):
            kept.append(line)
        is_after_frame = is_frame
    return "\n".join(kept)


def words_of(fields: Mapping[str, Any]) -> str:
    """Every text and number inside, one a line, as `key: value`; stack traces without their frames."""
    return "\n".join(_words("", fields, 0))


def _words(key: str, value: object, depth: int) -> Iterator[str]:
    if depth > 5:
        return
    if isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, Any]", value).items():
            yield from _words(str(name), inner, depth + 1)
    elif isinstance(value, str):
        body = without_frames(value)
        if body.strip():
            yield f"{key}: {body}"
    elif isinstance(value, Sequence):
        if key in _STACK_KEYS:
            yield from _causes_of(cast("Sequence[Any]", value))
            return
        for inner in cast("Sequence[Any]", value):
            yield from _words(key, inner, depth + 1)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield f"{key}: {value}"


def _causes_of(stack: Sequence[Any]) -> Iterator[str]:
    """The errors behind the first one, which .NET, Java and Node write between the frames."""
    text = "\n".join(str(line) for line in stack)
    yield from (found[0].strip() for found in _CAUSED.finditer(text))


def _structured(fields: Mapping[str, Any]) -> ErrorText | None:
    own = _object(fields, is_named=False)
    if own is not None and own.type and own.type not in _WRAPPERS:
        return own
    for key in _ERROR_KEYS:
        inner = _value(fields.get(key))
        if inner is not None:
            return ErrorText(type=inner.type or _text(fields, _TYPE_KEYS[3:]), message=inner.message)
    for key in _SAID_KEYS:
        if isinstance(fields.get(key), Mapping):
            return _value(fields[key])
    if own is not None:
        return own
    said = next((str(fields[key]) for key in _SAID_KEYS if isinstance(fields.get(key), str)), None)
    return _plain(said) if said else None


def _value(value: object) -> ErrorText | None:
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        return _structured(held) or _object(held, is_named=True)
    if isinstance(value, str) and value.strip():
        return _plain(value) or ErrorText(type=None, message=_first_line(value))
    return None


def _object(fields: Mapping[str, Any], *, is_named: bool) -> ErrorText | None:
    """An error as an object. At the top of a record only Lambda's own keys tell one: `message` is any message."""
    types, messages = (_TYPE_KEYS, _MESSAGE_KEYS) if is_named else (("errorType", "exception_name"), _MESSAGE_KEYS[:1])
    kind, said = _text(fields, types), _text(fields, messages)
    if said is None and not is_named:
        return None
    if kind is None and said is None:
        return None
    inner = _plain(said) if said and (kind is None or kind in _WRAPPERS) else None
    return inner or ErrorText(type=_bare(kind), message=_first_line(said or ""))


def _bare(kind: str | None) -> str | None:
    """Ruby's `Function<NoMethodError>` is a NoMethodError."""
    found = re.fullmatch(r"(?:Function|Init)<(.+)>", kind or "")
    return found[1] if found else kind


def _text(fields: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    return next((fields[key] for key in keys if isinstance(fields.get(key), str) and fields[key]), None)


def _plain(text: str) -> ErrorText | None:
    for read in (_of_crash, _of_python, _of_rust, _of_panic, _of_traceback, _of_cause, _of_java, _of_named):
        found = read(text)
        if found is not None:
            return found
    return None


def _of_crash(text: str) -> ErrorText | None:
    found = _CRASH.match(text)
    return ErrorText(type=found["type"], message=found["message"]) if found else None


def _of_python(text: str) -> ErrorText | None:
    found = _PYTHON.match(text)
    return _deeper(found["type"], (found["message"] or "").strip()) if found else None


def _deeper(kind: str, message: str) -> ErrorText:
    """boto3's ClientError says in its text which error it is."""
    told = _BOTO.match(message)
    if told and kind.rpartition(".")[2] in ("ClientError", told["type"]):
        return ErrorText(type=told["type"], message=message)
    return ErrorText(type=kind, message=message)


def _of_rust(text: str) -> ErrorText | None:
    found = _RUST.search(text)
    return ErrorText(type="panic", message=(found["old"] or found["new"] or "").strip()) if found else None


def _of_panic(text: str) -> ErrorText | None:
    found = _PANIC.search(text)
    return ErrorText(type=found["type"], message=found["message"]) if found else None


def _of_traceback(text: str) -> ErrorText | None:
    if not _TRACEBACK.search(text):
        return None
    lines = [line for line in text.splitlines() if line and not line.startswith((" ", "\t"))]
    for number in range(len(lines) - 1, -1, -1):
        found = _LAST.match(lines[number])
        if found and not _TRACEBACK.match(lines[number]):
            return _deeper(found["type"], (found["message"] or "").strip())
    return None


def _of_cause(text: str) -> ErrorText | None:
    causes = list(_CAUSED.finditer(text))
    if not causes:
        return None
    # The outermost says what failed; the last cause says why. One without words of its own says nothing.
    telling = [one for one in causes if not _EMPTY.match(one["message"] or "")]
    if not telling:
        return _of_named(text)
    last = telling[-1]
    return ErrorText(type=last["type"], message=last["message"] or "")


def _of_java(text: str) -> ErrorText | None:
    first = text.partition("\n")[0]
    found = _JAVA.match(first)
    return ErrorText(type=found["type"], message=found["message"]) if found else None


def _of_named(text: str) -> ErrorText | None:
    told = _BOTO.search(text)
    if told:
        return ErrorText(type=told["type"], message=told[0])
    found = _NAMED.search(text) if _ANY.search(text) else None
    return ErrorText(type=found["type"], message=found["message"].strip()) if found else None


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
