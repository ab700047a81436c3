"""Recognises what a file is by its path and its first lines. The data is in `recognition.yaml`.

A path can mislead: a whole journal saved as kubelet.log, a log at the place of a configuration file. Where the lines
say more than the path, they are believed.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from affidavit.bundle.file_roles import (
    OTHER_LOG,
    UNKNOWN_ROLE,
    WHOLE_JOURNAL,
    FileKind,
    FileRole,
    component_named,
    role_of,
)
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.errors import InputRefused
from affidavit.evidence.utf16 import is_wide, text_of
from affidavit.yaml_loading import load_yaml

# How much of a file is looked at, and how many lines of that.
HEAD = 64 * 1024
_LINES = 400
# Of a file whose path is known, fewer.
_CHECKED_LINES = 40
# So many of them, and this share, must have another program's mark where the form alone cannot tell.
_LEAST_MARKED = 3
_MARKED_SHARE = 0.3
# Of each block of a file, fewer still, within so many of its last bytes.
_SPREAD_LINES = 20
_SPREAD_BYTES = 16 * 1024
# A crash may leave traces between the lines of a log, so not all of them need to have its form.
_LEAST_SHARE = 0.25
# A second form in this many lines makes a mixed file. Read as one of the two, faults of the other would be missed.
_MIXED_SHARE = 0.1
_CONTAINER_PREFIX = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* std(?:out|err) [FP] ")
_HAS_TIME = re.compile(rb'.{0,40}?\d\d:\d\d:\d\d|.{0,200}?"(?:ts|time|timestamp)":')
# Records of a journal that take several lines each (`journalctl -o verbose`, `-o export`, `-o json-pretty`).
_RECORDS = re.compile(rb'\s*\[?\{?\s*"?(?:__REALTIME_TIMESTAMP|_SOURCE_REALTIME_TIMESTAMP|SYSLOG_IDENTIFIER)"? ?[:=]')
# The same in one array on one line.
_ARRAY = re.compile(rb'\[\s*\{.{0,2000}?"__REALTIME_TIMESTAMP" ?:', re.DOTALL)
# What a program wrote into the kernel's buffer: its name stands where a journal has the host's.
_IN_KERNEL_BUFFER = re.compile(
    rb"(?:\[ *\d{1,9}\.\d{6}\]|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d,\d{6}\S*) [^\s\[:]+(?:\[\d+\])?: "
)
# The head of a table that PowerShell wrote: every log of Windows begins so.
_TABLE_HEAD = re.compile(rb'#TYPE |"[A-Za-z]+","[A-Za-z]+"')
# Lines that end in a carriage return alone are no lines to any reader of ours.
_RETURNS = 3


class RecognisedBy(StrEnum):
    PATH = "path"
    CONTENT = "content"


@dataclass(frozen=True, kw_only=True)
class Recognition:
    """What a file is. It is read as if it lay at `read_as`. `by` is None when only general rules can read it."""

    role: FileRole
    read_as: str
    by: RecognisedBy | None


def recognise(path: str, head: bytes) -> Recognition:
    """`head` are the first bytes of the file."""
    role = role_of(path)
    if role not in (UNKNOWN_ROLE, OTHER_LOG):
        return _known(path, role, head)
    lines = _lines(head)
    if (read_as := _read_as(lines, _forms())) is not None:
        by = None if _has_no_lines(head) else RecognisedBy.CONTENT
        return Recognition(role=role_of(read_as), read_as=read_as, by=by)
    if role == OTHER_LOG or _is_log(lines) or _holds_log_lines(lines):
        return Recognition(role=OTHER_LOG, read_as=path, by=None)
    return Recognition(role=UNKNOWN_ROLE, read_as=path, by=None)


def _known(path: str, role: FileRole, head: bytes) -> Recognition:
    """By its path, unless its lines are those of a log that rules for this path would not read."""
    if _has_no_lines(head):
        return Recognition(role=role, read_as=path, by=None)
    lines = _lines(head, _CHECKED_LINES)
    if role.kind is FileKind.LOG:
        if _names_others(lines, role):
            return Recognition(role=role_of(WHOLE_JOURNAL), read_as=WHOLE_JOURNAL, by=RecognisedBy.CONTENT)
        if (other := _of_another_program(lines, role)) is not None:
            return Recognition(role=role_of(other), read_as=other, by=RecognisedBy.CONTENT)
        return Recognition(role=role, read_as=path, by=RecognisedBy.PATH)
    read_as = _read_as(lines, _forms())
    if read_as is not None and not {*role_of(read_as).holds} <= {*role.holds}:
        return Recognition(role=role_of(read_as), read_as=read_as, by=RecognisedBy.CONTENT)
    return Recognition(role=role, read_as=path, by=RecognisedBy.PATH)


def _names_others(lines: Sequence[bytes], role: FileRole) -> bool:
    """Whether a journal's lines name programs whose rules do not read this file."""
    journal = [line for line in lines if _IN_KERNEL_BUFFER.match(line) is None]
    others = sum(component_named(line) not in (None, *role.holds) for line in journal)
    return others >= max(1, _MIXED_SHARE * len(lines))


def _of_another_program(lines: Sequence[bytes], role: FileRole) -> str | None:
    """What to read a file as whose lines have the form of another program's log, and none the form of its own.

    Logs of some programs share a form. Between those the path decides, unless many lines have the other's mark: a
    driver's log names the kubelet too.
    """
    own = _forms_of(role.holds)
    if not own or any(form.fits(line) for form in own for line in lines):
        return None
    read_as = _read_as(lines, _forms())
    if read_as is not None and any(form.line.match(line) for form in own for line in lines):
        read_as = read_as if _marked(lines, read_as) >= max(_LEAST_MARKED, _MARKED_SHARE * len(lines)) else None
    # A journal of programs that nobody knows is what its path says: `_names_others` looked for known ones.
    if read_as is None or read_as == WHOLE_JOURNAL:
        return None
    return None if {*role_of(read_as).holds} & {*role.holds} else read_as


def _marked(lines: Sequence[bytes], read_as: str) -> int:
    forms = [form for form in _forms() if form.read_as == read_as and form.mark is not None]
    return sum(any(form.fits(line) for form in forms) for line in lines)


def changes_its_writer(recognition: Recognition, block: bytes) -> bool:
    """Whether lines of `block`, somewhere in a recognised log, are of a program that its rules do not read.

    A log may have been appended to another one: its head tells nothing of that.
    """
    role = recognition.role
    if recognition.by is None or role.kind is not FileKind.LOG:
        return False
    lines = _spread(block)
    own = _forms_of(role.holds)
    strange = [line for line in lines if not _TABLE_HEAD.match(line) and not any(form.line.match(line) for form in own)]
    return _names_others(lines, role) or bool(own and strange and _of_another_program(strange, role))


def _spread(block: bytes) -> list[bytes]:
    """Some lines of a small block, evenly; of a large one, some of its last."""
    whole = block[-_SPREAD_BYTES:].split(b"\n")[1:-1] if len(block) > _SPREAD_BYTES else block.split(b"\n")
    lines = [line for line in whole if line.strip()]
    step = max(1, len(lines) // _SPREAD_LINES)
    return [_bare(line) for line in lines[-1::-step]]


def _has_no_lines(head: bytes) -> bool:
    return b"\n" not in head and head.count(b"\r") >= _RETURNS


class LogForm(BaseModel):
    """One entry of `recognition.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    read_as: str
    line: str
    mark: str | None = None
    samples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _Form:
    read_as: str
    line: re.Pattern[bytes]
    mark: re.Pattern[bytes] | None

    def fits(self, line: bytes) -> bool:
        return self.line.match(line) is not None and (self.mark is None or self.mark.search(line) is not None)

    def marked(self, lines: Sequence[bytes]) -> int:
        return 0 if self.mark is None else sum(self.mark.search(line) is not None for line in lines)


class _Forms(BaseModel):
    logs: tuple[LogForm, ...]


def log_forms() -> tuple[LogForm, ...]:
    text = files("affidavit.bundle").joinpath("recognition.yaml").read_text("utf-8")
    return _Forms.model_validate(load_yaml(text)).logs


def refuse_misread(forms: Sequence[LogForm]) -> None:
    """Raises InputRefused at the first sample that is recognised as something else."""
    compiled = [_compiled(form) for form in forms]
    for form in forms:
        if role_of(form.read_as).kind is not FileKind.LOG:
            raise InputRefused(f"recognition.yaml: {form.read_as} is not a log of layout.yaml")
        for sample in form.samples:
            if (read_as := _read_as([_bare(sample.encode())], compiled)) != form.read_as:
                raise InputRefused(f"recognition.yaml: a sample of {form.read_as} is read as {read_as}: {sample!r}")


def _read_as(lines: Sequence[bytes], forms: Sequence[_Form]) -> str | None:
    """The path of the one form that most lines have; None where there is none, or where forms are mixed."""
    if not lines:
        return None
    fitting = {form: {at for at, line in enumerate(lines) if form.line.match(line)} for form in forms}
    likely = {form: fits for form, fits in fitting.items() if len(fits) >= _LEAST_SHARE * len(lines)}
    marks = {form: form.marked([lines[at] for at in fits]) for form, fits in likely.items()}
    best = max((form for form in likely if marks[form]), key=lambda form: marks[form], default=None)
    if best is None:
        best = max((form for form in likely if form.mark is None), key=lambda form: len(likely[form]), default=None)
    if best is None or any(len(fits - fitting[best]) >= _MIXED_SHARE * len(lines) for fits in fitting.values()):
        return None
    return best.read_as


def _lines(head: bytes, most: int = _LINES) -> list[bytes]:
    """Whole lines that are not blank, as UTF-8, without zeros in front and without what is wrapped around them."""
    if is_wide(head):
        found = (text_of(line, is_of_wide_file=True).encode() for line in head.split(b"\n"))
        lines = list(found)
    else:
        lines = head.lstrip(b"\0")[:HEAD].split(b"\n", 2 * most)
    whole = lines[:-1] if len(lines) > 1 else lines
    return [_bare(line) for line in whole if line.strip()][:most]


def _bare(line: bytes) -> bytes:
    line = unwrapped(line)
    found = _CONTAINER_PREFIX.match(line)
    return (line if found is None else line[found.end() :]).rstrip(b"\r")


def _is_log(lines: Sequence[bytes]) -> bool:
    """Whether enough lines carry a time to be a log of whatever program."""
    if any(_RECORDS.match(line) or _ARRAY.match(line) for line in lines):
        return True
    return sum(_HAS_TIME.match(line) is not None for line in lines) >= max(1, _LEAST_SHARE * len(lines))


def _holds_log_lines(lines: Sequence[bytes]) -> bool:
    """Whether one line has the form of a log: a page with a log pasted into it is a log nobody recognises."""
    return any(form.line.match(line) for form in _forms() for line in lines)


@cache
def _forms() -> tuple[_Form, ...]:
    forms = log_forms()
    refuse_misread(forms)
    return tuple(map(_compiled, forms))


@cache
def _forms_of(holds: tuple[str, ...]) -> tuple[_Form, ...]:
    """The forms in which these components write."""
    return tuple(form for form in _forms() if {*role_of(form.read_as).holds} & {*holds})


def _compiled(form: LogForm) -> _Form:
    return _Form(
        read_as=form.read_as,
        line=re.compile(form.line.encode()),
        mark=None if form.mark is None else re.compile(form.mark.encode()),
    )
