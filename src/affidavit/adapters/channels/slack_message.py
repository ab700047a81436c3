"""Draws a notice as a Slack message in which nothing from a log mentions, links or formats.

Rich text elements and plain-text objects are shown as they are. The fallback text of notifications is parsed, so there
the three control characters are escaped and addresses are made unclickable. Buttons carry links only.
"""

import re

from affidavit.adapters.channels.notice_sections import Detail, Part, PartLine, cut, fitting, parts_of
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice

# What programs make links of, by the character without which they do not.
_ADDRESS = re.compile(r"(?i)(?<=\bwww)\.|(?<=\bmailto):|(?<=\btel):|:(?=//)")
# Slack's own limits.
_MOST_HEADER = 150
_MOST_TEXT = 3_000
# All blocks together. Slack's pages do not say it; beyond some 13,000 characters it answers `msg_blocks_too_long`.
_MOST_BLOCKS = 12_000


def slack_message(notice: Notice) -> dict[str, JsonValue]:
    return {
        "text": escaped(cut(notice.title, _MOST_TEXT)),
        "mrkdwn": False,
        "parse": "none",
        "link_names": False,
        "unfurl_links": False,
        "unfurl_media": False,
        "blocks": fitting(lambda detail: _blocks(notice, detail), most=_MOST_BLOCKS),
    }


def escaped(text: str) -> str:
    """Text for a place where Slack looks for `<@user>`, `<url|words>` and `<!channel>`."""
    safe = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return unlinked(safe).replace("@", "@\u200b")


def unlinked(text: str) -> str:
    """Text in which no address can be clicked on, as threat reports write them."""
    return _ADDRESS.sub(r"[\g<0>]", text)


def _blocks(notice: Notice, detail: Detail) -> list[JsonValue]:
    header: JsonValue = {
        "type": "header",
        "text": {"type": "plain_text", "text": cut(notice.title, _MOST_HEADER), "emoji": False},
    }
    return [header, *(_block(part) for part in parts_of(notice, detail)), *_button(notice)]


def _block(part: Part) -> JsonValue:
    title: list[JsonValue] = [_section(part.title, is_bold=True)] if part.title else []
    return {"type": "rich_text", "elements": [*title, *(_element(line) for line in part.lines)]}


def _element(line: PartLine) -> JsonValue:
    if line.is_quote:
        return {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": line.text}]}
    return _section(line.text, is_bold=False)


def _section(text: str, *, is_bold: bool) -> JsonValue:
    element: dict[str, JsonValue] = {"type": "text", "text": f"{text}\n"}
    if is_bold:
        element["style"] = {"bold": True}
    return {"type": "rich_text_section", "elements": [element]}


def _button(notice: Notice) -> list[JsonValue]:
    if not notice.link:
        return []
    words: JsonValue = {"type": "plain_text", "text": "Open in the console", "emoji": False}
    return [{"type": "actions", "elements": [{"type": "button", "text": words, "url": notice.link}]}]
