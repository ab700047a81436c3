"""Finds the hosts and addresses that texts name: in URLs, settings, sentences and messages of drivers."""

import re
from collections.abc import Iterable

_URL = re.compile(
    r"\b(?:https?|wss?|amqps?|redis|rediss|mongodb(?:\+srv)?|postgres(?:ql)?|mysql|jdbc:\w+)://([\w.-]+)(:\d+)?"
)
_HOST = re.compile(
    r"(?:\bhost(?:name)?|\bHost|\baddress|\bserver|\bbroker|\bendpoint)[\"']?\s*[=:]\s*[\"']?([\w-]+(?:\.[\w-]+)+(?::\d+)?)"
)
# `db.example.com:5432`, and the host of a sentence such as `connecting to db.example.com`.
_PAIR = re.compile(r"(?<![\w./-])([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)*\.([a-z][a-z0-9]*):\d{2,5})\b(?!:)", re.IGNORECASE)
_SPOKEN = re.compile(
    r"(?:connect\w*|dial\w*|calling|reach\w*|sending|publishing|writing|posting|host|broker|server)"
    r" (?:to |at |on )?[\"'`]?([a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+\.([a-z]{2,}))\b(?![\w.:/(-])",
    re.IGNORECASE,
)
_FILES = ("py", "js", "mjs", "cjs", "ts", "java", "kt", "go", "rb", "rs", "cs", "php", "json", "csv", "txt", "line")
_ADDRESS = re.compile(r"\b(\d{1,3}(?:\.\d{1,3}){3})(?::(\d{2,5}))?\b")
_SERVER = re.compile(r"server at \"([\w.-]+)\"(?: \(([\d.]+)\))?, port (\d+)")
_FOREIGN = (
    "docs.aws.amazon.com",
    "localhost",
    "github.com",
    "errors.pydantic.dev",
    "go.microsoft.com",
    "aws.amazon.com",
)


def hosts(texts: Iterable[str]) -> list[str]:
    """Hosts and addresses that the texts name, each once."""
    found: list[str] = []
    for text in texts:
        found += [f"{match[1]}{match[2] or ''}" for match in _URL.finditer(text)]
        found += [match[1] for match in _HOST.finditer(text)]
        found += [match[1] for by in (_PAIR, _SPOKEN) for match in by.finditer(text) if match[2].lower() not in _FILES]
        found += [f"{match[1]}:{match[3]}" for match in _SERVER.finditer(text)]
        found += [match[1] + (f":{match[2]}" if match[2] else "") for match in _ADDRESS.finditer(text)]
    return [host for host in dict.fromkeys(found) if not host.startswith(_FOREIGN) and not _is_version(host)]


def _is_version(host: str) -> bool:
    """`127.0.0.1` is the function itself; four small numbers may be a version."""
    return host.startswith(("127.", "0.", "169.254."))
