"""What the bundle says stays text in every ticket system: no markup, no link, nobody is called."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from affidavit.entrypoints.report.markdown import inert
from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless

ACTIVE = re.compile(r"://|www\.|@|#\d|\w\.\w|[\w-]*\w-\d|[0-9a-f]*\d[0-9a-f]{6,}", re.IGNORECASE)
NUMBER = re.compile(r"[\d.,]+")


def parts(markdown: str) -> Iterator[Token]:
    """Of the one item of a list."""
    tokens = MarkdownIt("commonmark").parse(f"- {markdown}")
    kinds = [token.type for token in tokens]
    assert kinds == [
        *("bullet_list_open", "list_item_open", "paragraph_open", "inline"),
        *("paragraph_close", "list_item_close", "bullet_list_close"),
    ], kinds
    yield from tokens[3].children or ()


@pytest.mark.parametrize(
    "text",
    [
        "https://evil.example/x was not read",
        "see www.evil.example/login: it could not be read",
        "HTTPS://evil.example, WWW.EVIL.EXAMPLE",
        "Measured: @org/team of 5.",
        "root@evil.example wrote (@admin) \"@admin\" and '@admin'.",
        "evil.example/x",
        "fixes #12, org/repo#12, GH-12, !12, TEAM-1234",
        "0123456789abcdef0123456789abcdef01234567",
        "mailto:a@b.c [x](https://evil.example) <https://evil.example> ![x](y)",
        "`@admin` ``@admin`` ` @admin",
        "1. list", "- list", "# title", "> quote", "---", "=== x",
    ],
)  # fmt: skip
def test_addresses_mentions_and_references_stand_in_code(text: str) -> None:
    outside = [part.content for part in parts(inert(text)) if part.type != "code_inline"]
    assert not [word for each in outside for word in each.split() if ACTIVE.search(word)], outside


@given(st.text(st.characters(exclude_categories=("Cs",)) | st.sampled_from("@#:/.`*_[]()<>!-1a \\|~&;")).map(str.strip))
def test_any_text_is_kept_and_only_words_and_numbers_stand_outside_code(text: str) -> None:
    shown = list(parts(inert(text))) if text else []
    assert {part.type for part in shown} <= {"text", "code_inline", "text_special"}
    kept = "".join(part.content for part in shown)
    assert kept.split() == harmless(text).replace("`", "'").split()
    outside = [word for part in shown if part.type != "code_inline" for word in part.content.split()]
    assert not [word for word in outside if ACTIVE.search(word) and not NUMBER.fullmatch(word.strip("()\"'%;:!?"))]


def test_prose_stays_prose() -> None:
    line = "118 of 128 files scanned (92.2 %), 0.8 MB; the node's IPv4 is known."
    assert inert(line) == line.replace("(", r"\(").replace(")", r"\)")
    assert inert("kernel/dmesg.current: binary") == "`kernel/dmesg.current`: binary"
