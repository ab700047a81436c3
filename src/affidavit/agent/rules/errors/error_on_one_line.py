"""Names an error in a cause: its type, its message, and the line of it that tells the cause.

What is named here is quoted as evidence beside it. Text that reads like an order is left out of causes: whoever feeds
a program can make it log anything.
"""

import re

from affidavit.agent.rules.failure_reasons import Reason

LONGEST_BRIEF = 240
_ORDER = re.compile(
    r"\b(ignore|disregard|instruction|system:|assistant|prompt|fault_types|submit_|call get_|you (must|should|are)"
    r"|please (run|call|approve|grant|attach|disable|delete)|curl |wget |sudo |rm -|chmod |powershell|base64 -"
    r"|administratoraccess|approve|attach-(role|user)-policy|--force|as root)",
    re.IGNORECASE,
)
_KEY = re.compile(r"^\w+: (?=\S)")
_ENOUGH = 40
# As clients keep it beside the message: Prisma's P2024, SQL states, ER_…, and Node's ECONNREFUSED.
_CODE = re.compile(
    r"^(?:code|sqlState|sqlstate|errorCode|ErrorCode): ([A-Z][A-Z0-9_]{3,40}|[0-9][0-9A-Z]{4})$", re.MULTILINE
)
_TIME = re.compile(r"\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?\b")


def brief(reason: Reason) -> str:
    """The error's type and message, and the line of it that tells the cause where that is another, on one line."""
    named, telling = _named(reason), _telling(reason)
    known = telling[:_ENOUGH] in named or not telling or _ORDER.search(telling)
    return named if known else _line(f"{named}: {telling}")


def _telling(reason: Reason) -> str:
    """The line in which the catalog found the cause."""
    if reason.match is None:
        return ""
    start = reason.text.rfind("\n", 0, reason.match.start + 1) + 1
    line = reason.text[start:].partition("\n")[0]
    return _line(_KEY.sub("", line))


def _named(reason: Reason) -> str:
    """Only the type where the message reads like an order."""
    error = reason.error
    if error is None:
        return _line(reason.quote)
    kind = (error.type or "").rpartition(".")[2] if (error.type or "").count(".") > 1 else error.type or ""
    message = f"{_line(error.message)}{_code(reason)}"
    if not message or _ORDER.search(message):
        return kind or "an error whose words are in the evidence"
    if not kind or message.startswith(f"{kind}:") or f"({kind})" in message:
        return message
    return _line(f"{kind}: {message}")


def _code(reason: Reason) -> str:
    """` (P2024)`: the code by which a client's documentation lists the error, where its words lack it."""
    found = _CODE.search(reason.text)
    return f" ({found[1]})" if found and reason.error and found[1] not in reason.error.message else ""


def _line(text: str) -> str:
    # A time inside an error is nobody's observation; the evidence quotes it.
    timeless = _TIME.sub("…", "".join(char if char.isprintable() else " " for char in text))
    flat = " ".join(timeless.split())
    return flat if len(flat) <= LONGEST_BRIEF else f"{flat[:LONGEST_BRIEF].rsplit(' ', 1)[0]} …"


def is_order(text: str) -> bool:
    return _ORDER.search(text) is not None
