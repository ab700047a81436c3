"""Finds the values of Kubernetes Secrets, in JSON and in YAML: everything under `data` and `stringData`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

_TOKEN: Final = re.compile(
    rb"""[{}]|\\{0,12}"kind\\{0,12}"\s{0,80}:\s{0,80}\\{0,12}"Secret\\{0,12}\""""
    rb"""|\\{0,12}"(?:data|stringData)\\{0,12}"\s{0,80}:\s{0,80}\{(?P<map>[^{}]*)\}?"""
)
_PAIR: Final = re.compile(rb"""\\{0,12}"[^"\\]+\\{0,12}"\s*:\s*\\{0,12}"(?P<value>(?:[^"\\]|\\{1,12}[^"\\])+)""")
_KIND: Final = re.compile(rb"""(?:^|\s)kind:[ ]*["']?Secret\b""")
_KEY: Final = re.compile(
    rb"""(?<![A-Za-z0-9_./-])(?P<key>["']?[A-Za-z0-9_./-]{1,253}["']?):(?:[ ]+(?P<value>\S[^\n]*?))?[ \t\r]*$"""
)
_SEPARATOR: Final = re.compile(rb"(?:^|\s)---\s*$")


def secret_values(text: bytes) -> Iterator[tuple[int, int]]:
    yield from _in_json(text)
    yield from _in_yaml(text)


@dataclass(slots=True)
class _Object:
    is_secret: bool = False
    maps: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def _in_json(text: bytes) -> Iterator[tuple[int, int]]:
    """One pass: a stack of open objects, each with its maps, until one turns out to be a Secret."""
    stack = [_Object()]
    for token in _TOKEN.finditer(text):
        match token[0][:1]:
            case b"{":
                stack.append(_Object())
            case b"}":
                yield from _values(text, stack.pop() if len(stack) > 1 else _Object())
            case _ if token["map"] is not None:
                stack[-1].maps.append(token.span("map"))
            case _:
                stack[-1].is_secret = True
    # What was never closed was cut off.
    for each in stack:
        yield from _values(text, each)


def _values(text: bytes, found: _Object) -> Iterator[tuple[int, int]]:
    if found.is_secret:
        for start, end in found.maps:
            for pair in _PAIR.finditer(text, start, end):
                yield pair.span("value")


@dataclass(slots=True)
class _Document:
    is_secret: bool = False
    values: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    # The column of an open `data:`; None outside of one.
    column: int | None = None
    in_block: bool = False


def _in_yaml(text: bytes) -> Iterator[tuple[int, int]]:
    document, at = _Document(), 0
    for line in text.split(b"\n"):
        if _SEPARATOR.search(line):
            yield from document.values if document.is_secret else ()
            document = _Document()
        else:
            _read(line, at, document)
        at += len(line) + 1
    yield from document.values if document.is_secret else ()


def _read(line: bytes, at: int, document: _Document) -> None:
    if _KIND.search(line):
        document.is_secret = True
    found = _KEY.search(line)
    if found is None:
        _continue_block(line, at, document)
        return
    column = found.start("key")
    if document.column is not None and column > document.column:
        document.in_block = (found["value"] or b"")[:1] in (b"|", b">") or found["value"] is None
        if found["value"] is not None and not document.in_block:
            document.values.append((at + found.start("value"), at + found.end("value")))
    else:
        is_data = found["key"] in (b"data", b"stringData") and found["value"] is None
        document.column, document.in_block = (column if is_data else None), False


def _continue_block(line: bytes, at: int, document: _Document) -> None:
    """A value written below its key: `key: |`."""
    stripped = line.strip()
    if document.column is None or not stripped:
        return
    column = len(line) - len(line.lstrip())
    if document.in_block and column > document.column:
        document.values.append((at + column, at + len(line.rstrip())))
    elif column <= document.column:
        document.column = None
