"""Tells people in Microsoft Teams through a Workflows webhook, as an adaptive card.

Text from logs stands in text runs: unlike text blocks they know no Markdown. Without a list of mentions none is made.
"""

from dataclasses import dataclass, field

from affidavit.adapters.channels.http_sender import Sender
from affidavit.adapters.channels.notice_sections import Detail, Part, PartLine, cut, fitting, parts_of
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice

# Teams takes about 28 KB, what it makes of a card included: senders have seen it refuse 21 KB.
_MOST_CARD = 18_000


@dataclass(frozen=True, kw_only=True)
class TeamsNotifier:
    sender: Sender
    url: str = field(repr=False)

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        attachment: JsonValue = {
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": None,
            "content": teams_card(notice),
        }
        self.sender.post(self.url, {"type": "message", "attachments": [attachment]})
        return ""


def teams_card(notice: Notice) -> JsonValue:
    return fitting(lambda detail: _card(notice, detail), most=_MOST_CARD)


def _card(notice: Notice, detail: Detail) -> JsonValue:
    head = _rich([_run(cut(notice.title, 300), is_bold=True)], size="Large")
    body: list[JsonValue] = [head]
    for part in parts_of(notice, detail):
        body += _drawn(part)
    actions: list[JsonValue] = (
        [{"type": "Action.OpenUrl", "title": "Open in the console", "url": notice.link}] if notice.link else []
    )
    return {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": {"width": "Full"},
        "body": body,
        "actions": actions,
    }


def _drawn(part: Part) -> list[JsonValue]:
    title = [_rich([_run(part.title, is_bold=True)])] if part.title else []
    return [*title, *(_line(line) for line in part.lines)]


def _line(line: PartLine) -> JsonValue:
    return _rich([_run(line.text, is_quote=line.is_quote)])


def _rich(runs: list[JsonValue], *, size: str = "Default") -> JsonValue:
    for run in runs:
        if isinstance(run, dict):
            run["size"] = size
    return {"type": "RichTextBlock", "inlines": runs}


def _run(text: str, *, is_bold: bool = False, is_quote: bool = False) -> JsonValue:
    run: dict[str, JsonValue] = {"type": "TextRun", "text": text}
    if is_bold:
        run["weight"] = "Bolder"
    if is_quote:
        run["fontType"] = "Monospace"
    return run
