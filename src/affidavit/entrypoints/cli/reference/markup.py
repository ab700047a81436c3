"""Writes Markdown for the reference pages: blocks, lists, links, and text that must not become markup."""

import re
from collections.abc import Iterable, Iterator

# Samples are cut, because code hosts do not show a very large page. The rule files have them whole.
_LONGEST_LINE = 240


def block(title: str, lines: Iterable[str]) -> Iterator[str]:
    content = "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)
    if content:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", content)), default=0))
        yield from ("", title, "", f"{fence}text", content, fence)


def bullets(title: str, items: Iterable[str]) -> Iterator[str]:
    if lines := [f"- {item}" for item in items]:
        yield from ("", title, "", *lines)


def rule_links(title: str, ids: Iterable[str]) -> Iterator[str]:
    yield from bullets(title, [rule_link(each, page="") for each in ids])


def rule_link(rule_id: str, *, page: str = "rules.md") -> str:
    return f"[{rule_id}]({page}#{anchor(rule_id)})"


def anchor(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it: without dots."""
    return heading.replace(".", "")


def codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def literal(text: str) -> str:
    """Escapes text that Markdown would read as markup."""
    return re.sub(r"([*_<>\[\]|])", r"\\\1", text)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
