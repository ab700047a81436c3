"""Compares policy documents: whether one grants more than another, and whether it grants what no repair may."""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from affidavit.ports.json import Item, JsonValue

FORBIDDEN = ("iam:passrole",)


def widenings(document: Item, source: Item) -> Sequence[str]:
    """What the document grants beyond its source, each a sentence. Empty: it is the source or a part of it."""
    allowed = [one for one in statements(source) if one.get("Effect") == "Allow"]
    grants = (one for one in statements(document) if one.get("Effect") == "Allow")
    found = [f"{_told(one)} is not in the source" for one in grants if not any(_covers(by, one) for by in allowed)]
    kept = [one for one in statements(document) if one.get("Effect") == "Deny"]
    denials = (one for one in statements(source) if one.get("Effect") == "Deny")
    return [*found, *(f"{_told(one)} would no longer deny" for one in denials if one not in kept)]


def forbidden_grants(document: Item) -> Sequence[str]:
    """Statements that no repair brings back, however they were lost."""
    return [f"{_told(one)} lets roles be passed on" for one in statements(document) if _is_forbidden(one)]


def statements(document: Item) -> list[Item]:
    raw = document.get("Statement")
    listed = raw if isinstance(raw, Sequence) and not isinstance(raw, str) else [raw]
    return [one for one in listed if isinstance(one, Mapping)]


def texts(value: JsonValue) -> list[str]:
    if value is None:
        return []
    return [str(one) for one in value] if isinstance(value, Sequence) and not isinstance(value, str) else [str(value)]


def _covers(source: Item, granted: Item) -> bool:
    """Whether one statement of the source allows everything that this one does."""
    plain = ("Condition", "Principal", "NotPrincipal", "NotAction", "NotResource")
    if any(source.get(name) != granted.get(name) for name in plain):
        return False
    actions, given = (texts(one.get("Action")) for one in (granted, source))
    is_within = _within([one.lower() for one in actions], [one.lower() for one in given])
    return is_within and _within(texts(granted.get("Resource")), texts(source.get("Resource")))


def _within(wanted: Sequence[str], given: Sequence[str]) -> bool:
    return all(one in given or (not _is_pattern(one) and _matches(one, given)) for one in wanted)


def _is_pattern(text: str) -> bool:
    """A wildcard is never taken for a part of another wildcard: it must stand in the source itself."""
    return "*" in text or "?" in text or "${" in text


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(text, pattern.replace("[", "[[]")) for pattern in patterns)


def _is_forbidden(statement: Item) -> bool:
    if statement.get("Effect") != "Allow":
        return False
    return "NotAction" in statement or any(_is_named(one) for one in texts(statement.get("Action")))


def _is_named(action: str) -> bool:
    return any(fnmatchcase(name, action.lower()) for name in FORBIDDEN)


def _told(statement: Item) -> str:
    named = statement.get("Sid") or ", ".join(_actions(statement))
    return f"the statement {named}"


def _actions(statement: Item) -> Iterator[str]:
    yield from texts(statement.get("Action")) or (f"not {one}" for one in texts(statement.get("NotAction")))
