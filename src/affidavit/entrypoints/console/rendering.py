"""Templates and static files. Every text is escaped; characters that could mislead a reader are shown as escapes."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless
from affidavit.nodes.questions.read import human_size

_SEPARATORS: Final = re.compile("([.:/]+)")
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_OWN: Final = "affidavit.entrypoints.console"
# The report of a node is the same here as in its own file, so it has the same style and script.
_SHARED: Final = {
    "report.css": "affidavit.entrypoints.report.page",
    "report.js": "affidavit.entrypoints.report.page",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StaticFile:
    content: bytes
    media_type: str
    digest: str


@cache
def static_files() -> Mapping[str, StaticFile]:
    """All there are, by name: a request cannot name anything else."""
    own = [
        (entry.name, entry.read_bytes()) for entry in files(_OWN).joinpath("static").iterdir() if _is_served(entry.name)
    ]
    shared = [(name, files(package).joinpath(name).read_bytes()) for name, package in _SHARED.items()]
    return {name: _static(name, content) for name, content in (*own, *shared)}


def _is_served(name: str) -> bool:
    return name.rpartition(".")[2] in _TYPES


def _static(name: str, content: bytes) -> StaticFile:
    digest = hashlib.sha256(content).hexdigest()[:16]
    return StaticFile(content=content, media_type=_TYPES[name.rpartition(".")[2]], digest=digest)


@cache
def templates() -> Environment:
    environment = Environment(
        loader=PackageLoader(_OWN),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    added: dict[str, Any] = {
        "when": when,
        "clock": clock,
        "size": human_size,
        "count": _count,
        "ago": _ago,
        "short": _short,
        "breakable": _breakable,
        "spans": _spans,
    }
    environment.globals["static"] = _static_url  # pyright: ignore[reportUnknownMemberType] Jinja's is a bare dict
    environment.tests["moment"] = _is_moment  # pyright: ignore[reportUnknownMemberType] Jinja's is a bare dict
    environment.filters.update(added)  # pyright: ignore[reportUnknownMemberType] Jinja's is a bare dict
    return environment


def render(template: str, values: Mapping[str, Any]) -> str:
    return templates().get_template(template).render(values)


def when(moment: datetime | None) -> Markup:
    """A time in UTC; a script adds the reader's own time as a title."""
    if moment is None:
        return Markup("time unknown")
    # One without a zone comes from the fleet's tables, which are in UTC.
    utc = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    return Markup('<time datetime="{}">{}</time>').format(f"{utc:%Y-%m-%dT%H:%M:%SZ}", f"{utc:%Y-%m-%d %H:%M} UTC")


def clock(moment: datetime | None) -> Markup:
    """The time of day alone, where the day is plain."""
    if moment is None:
        return Markup("time unknown")
    utc = moment.astimezone(UTC)
    return Markup('<time datetime="{}">{}</time>').format(f"{utc:%Y-%m-%dT%H:%M:%SZ}", f"{utc:%H:%M}")


def _is_moment(value: Any) -> bool:
    return isinstance(value, datetime)


def _ago(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    if seconds < 3600:
        return f"{seconds // 60:02d}:{seconds % 60:02d}"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d}" if seconds < 86400 else f"{seconds // 86400} d"


def _count(number: int) -> str:
    return f"{number:,}"


def _short(text: str, characters: int = 200) -> str:
    return text if len(text) <= characters else f"{text[:characters]}…"


def _breakable(text: str) -> Markup:
    """Long names break behind their separators, not in the middle of a word."""
    parts = _SEPARATORS.split(_shown(text))
    return Markup("").join(Markup("{}<wbr>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _spans(text: str) -> Markup:
    """Text between backticks is a command or a name."""
    parts = _shown(text).split("`")
    if len(parts) % 2 == 0:
        return Markup("{}").format(_shown(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts))


def _shown(value: Any) -> Any:
    """Line ends and tabs stay: a template shows such text in lines."""
    if not isinstance(value, str) or isinstance(value, Markup) or value.isprintable():
        return value
    return "\n".join(harmless(line) for line in value.split("\n"))


def _static_url(name: str) -> str:
    return f"/static/{name}?v={static_files()[name].digest}"
