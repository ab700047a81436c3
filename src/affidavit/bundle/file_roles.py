"""Tells what each file of a bundle is and which component wrote each of its lines. The data is in `layout.yaml`."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files

from pydantic import BaseModel

from affidavit.yaml_loading import load_yaml

ANY = "any"


class FileKind(StrEnum):
    LOG = "log"
    OUTPUT = "output"
    CONFIG = "config"
    BINARY = "binary"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True)
class FileRole:
    """`holds`: components whose lines can be in the file; the first owns lines that name no program."""

    kind: FileKind
    holds: tuple[str, ...]

    @property
    def is_read(self) -> bool:
        return self.kind in (FileKind.LOG, FileKind.OUTPUT)


UNKNOWN_ROLE = FileRole(kind=FileKind.UNKNOWN, holds=())
# A file that only its name makes a log: nothing says which program wrote it.
OTHER_LOG = FileRole(kind=FileKind.LOG, holds=("other",))

# The time, perhaps a host, then `program[pid]:`. `snap logs` leaves the host out.
_TAG = re.compile(
    rb"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)?|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*|"
    rb"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z]{2,5}|\[ *\d{1,9}\.\d{6}\]) "
    rb"(?:\S+ )?([^\s\[:]+)(?:\[\d+\])?: "
)

# A header without a time, or with a month in another language. It counts when it names a program that is known.
_BARE_TAG = re.compile(rb"(?:\S{1,12} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)? )?(?:\S+ )?([^\s\[:]+)(?:\[\d+\])?: ")

# Where every component of a journal may write.
WHOLE_JOURNAL = "var_log/messages"


@lru_cache(maxsize=65536)
def role_of(path: str) -> FileRole:
    found = _any_glob().fullmatch(path)
    return UNKNOWN_ROLE if found is None or found.lastindex is None else _globs()[found.lastindex - 1][1]


def component_of(line: bytes | bytearray, role: FileRole) -> str:
    """Who wrote the line: the program it names, else the file's first component."""
    return _writer(line, role) or (role.holds[0] if role.holds else "unknown")


def may_be_by(line: bytes | bytearray, role: FileRole, components: Collection[str]) -> bool:
    """Whether one of the components may have written the line: any that the file holds when it names no program."""
    writer = _writer(line, role)
    return any(each in components for each in role.holds) if writer is None else writer in components


def _writer(line: bytes | bytearray, role: FileRole) -> str | None:
    """None for a line of a journal that names no program."""
    if len(role.holds) < 2:
        return role.holds[0] if role.holds else None
    if (tag := _TAG.match(line)) is not None:
        return _programs().get(tag[1], role.holds[0])
    return _programs().get(bare[1]) if (bare := _BARE_TAG.match(line)) is not None else None


def component_named(line: bytes) -> str | None:
    """The component of the program that a journal's line names; None where it names none that is known."""
    tag = _TAG.match(line)
    return None if tag is None else _programs().get(tag[1])


def components() -> frozenset[str]:
    """All components that write logs."""
    return frozenset(component for _, role in _globs() if role.kind is FileKind.LOG for component in role.holds)


@cache
def is_flat_file(name: str) -> bool:
    """Bottlerocket's files lie in no folder and have no ending, so their names could be components'."""
    return name not in components() and any(glob == name for glob, _ in _globs())


@cache
def example_path(component: str) -> str:
    """A file that holds lines of the component, one of its own where there is one."""
    rows = [(role, glob) for glob, role in _globs() if role.kind is FileKind.LOG and component in role.holds]
    rows.sort(key=lambda row: row[0].holds[0] != component)
    return rows[0][1].replace("*", "x") if rows else f"var_log/{component}.log"


@lru_cache(4096)
def glob_pattern(glob: str) -> re.Pattern[str]:
    """`*` stays inside a folder, `**` does not; matched from the right at a folder boundary."""
    parts = (_glob_part(part) for part in re.split(r"(\*\*|\*)", glob))
    return re.compile(r"(?:.*/)?" + "".join(parts), re.DOTALL)


def _glob_part(part: str) -> str:
    return {"**": ".*", "*": "[^/]*"}.get(part, re.escape(part))


class _Row(BaseModel):
    kind: FileKind
    holds: tuple[str, ...]
    globs: tuple[str, ...]


class _Layout(BaseModel):
    files: tuple[_Row, ...]
    programs: dict[str, str]


@cache
def _layout() -> _Layout:
    text = files("affidavit.bundle").joinpath("layout.yaml").read_text("utf-8")
    return _Layout.model_validate(load_yaml(text))


@cache
def _globs() -> tuple[tuple[str, FileRole], ...]:
    roles = ((FileRole(kind=row.kind, holds=row.holds), row.globs) for row in _layout().files)
    return tuple((glob, role) for role, globs in roles for glob in globs)


@cache
def _any_glob() -> re.Pattern[str]:
    """One pattern with a group per glob; the first that fits wins. One match per file instead of fifty."""
    return re.compile("|".join(f"({glob_pattern(glob).pattern})" for glob, _ in _globs()), re.DOTALL)


@cache
def _programs() -> dict[bytes, str]:
    return {program.encode(): component for program, component in _layout().programs.items()}
