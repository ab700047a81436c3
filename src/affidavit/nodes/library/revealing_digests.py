"""What an answer must not carry out beside its text: digests of lines with hidden text, and where a text stood.

The sha256 of a line whose only unknown part is a password lets anybody try passwords at home.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from affidavit.errors import AffidavitError
from affidavit.evidence.finding import EXCERPT_CHARACTERS
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import bundle_key
from affidavit.nodes.library.redacted_spans import CONTEXT
from affidavit.redaction.redact import Around


@dataclass(frozen=True, kw_only=True)
class Leaving:
    """`around` says of a text of the answer where it was taken from: a secret may begin before it."""

    content: dict[str, Any]
    around: Mapping[str, Around]


def leaving(content: Mapping[str, Any], library: Library) -> Leaving:
    """`content` is an answer as it stands on the wire, before it is redacted."""
    places = _Places(library)
    without = cast("dict[str, Any]", _without_digests(content, "", places))
    return Leaving(content=without, around={**_excerpt_contexts(content, places), **_read_text(content, library)})


class _Places:
    """Which lines of stored files hold hidden text. Each is looked at once."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._known: dict[tuple[str, int, int], bool] = {}

    def is_hidden_in(self, span: Mapping[str, int], key: str) -> bool:
        place = key, span["start"], span["end"]
        if place not in self._known:
            self._known[place] = _is_hidden_in(span, key, self.library)
        return self._known[place]


def _without_digests(value: Any, key: str, places: _Places) -> Any:
    if isinstance(value, list):
        return [_without_digests(each, key, places) for each in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    entries = cast("Mapping[str, Any]", value)
    key = str(entries.get("full_key") or key)
    changed = {name: _without_digests(each, key, places) for name, each in entries.items()}
    if changed.get("sha256") and changed.get("byte_offset") and places.is_hidden_in(changed["byte_offset"], key):
        changed["sha256"] = None
    return changed


def _is_hidden_in(span: Mapping[str, int], key: str, library: Library) -> bool:
    """In doubt, yes."""
    try:
        location = _location(key, library)
        return bool(library.hidden.near(location, span["start"], span["end"]).within(span["start"], span["end"]))
    except (AffidavitError, OSError):
        return True


def _location(key: str, library: Library) -> Path:
    return library.lines(bundle_key(key).instance_id).location(key)


def _excerpt_contexts(content: Mapping[str, Any], places: _Places) -> dict[str, Around]:
    """What stands around excerpts of lines with hidden text: the line before may name a secret, or begin a key."""
    found: dict[str, Around] = {}
    for excerpt, key, span in _excerpts(content, ""):
        if span and places.is_hidden_in(span, key):
            found[excerpt] = _around(key, span, excerpt, places.library)
    return found


def _around(key: str, span: Mapping[str, int], excerpt: str, library: Library) -> Around:
    start, end = span["start"], span["end"]
    before = _text(key, max(0, start - CONTEXT), start, library)
    # The rest of a line that the excerpt is cut from is not read: it would not follow the excerpt.
    after = _text(key, end, end + CONTEXT, library) if len(excerpt) < EXCERPT_CHARACTERS else ""
    return Around(before=before, after=after)


def _excerpts(value: Any, key: str) -> Iterator[tuple[str, str, Mapping[str, int] | None]]:
    if isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _excerpts(each, key)
    elif isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value)
        key = str(entries.get("full_key") or key)
        if isinstance(excerpt := entries.get("excerpt"), str):
            yield excerpt, key, entries.get("byte_offset")
        for each in entries.values():
            yield from _excerpts(each, key)


def _read_text(content: Mapping[str, Any], library: Library) -> dict[str, Around]:
    """Lines that `read` returns, which may begin or end inside a private key."""
    if not content.get("lineAligned"):
        return {}
    key, start, end = str(content["logKey"]), int(content["startByte"]), int(content["endByte"])
    before = _text(key, max(0, start - CONTEXT), start, library)
    return {str(content["content"]): Around(before=before, after=_text(key, end, end + CONTEXT, library))}


def _text(key: str, start: int, end: int, library: Library) -> str:
    try:
        return library.objects.read(key, start, end).decode("utf-8", "replace")
    except (AffidavitError, OSError):
        return ""
