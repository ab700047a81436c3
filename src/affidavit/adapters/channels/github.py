"""Keeps one GitHub issue per incident: opened at its first end, rewritten in place at the next."""

import json
import re
from dataclasses import dataclass, field

from affidavit.adapters.channels.http_sender import ChannelRefused, Sender
from affidavit.adapters.channels.notice_sections import Part, PartLine, cut, parts_of
from affidavit.errors import InputRefused
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice

_GONE = (301, 404, 410)
_MOST_TITLE = 250
_MOST_BODY = 60_000


@dataclass(frozen=True, kw_only=True)
class GitHubNotifier:
    """`repository` is `owner/name`. A message's name is the issue's number."""

    sender: Sender
    token: str = field(repr=False)
    repository: str
    api: str = "https://api.github.com"

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        issues = f"{self.api}/repos/{self.repository}/issues"
        issue: dict[str, JsonValue] = {"title": _title(notice), "body": _body(notice)}
        if earlier and self._is_told_in(f"{issues}/{earlier}", issue, is_comment=bool(notice.plan_id)):
            return earlier
        return str(self._send("POST", issues, issue).get("number", ""))

    def _is_told_in(self, url: str, issue: dict[str, JsonValue], *, is_comment: bool) -> bool:
        """False where the issue was deleted or moved away: then a new one is opened."""
        try:
            if is_comment:
                self._send("POST", f"{url}/comments", {"body": issue["body"]})
            else:
                self._send("PATCH", url, issue)
        except ChannelRefused as refusal:
            if refusal.status in _GONE:
                return False
            raise
        return True

    def _send(self, method: str, url: str, issue: dict[str, JsonValue]) -> dict[str, JsonValue]:
        headers = {
            "authorization": f"Bearer {self.token}",
            "accept": "application/vnd.github+json",
            "x-github-api-version": "2022-11-28",
        }
        return self.sender.send(method, url, json.dumps(issue).encode(), headers=headers).json()


def checked_repository(name: str) -> str:
    """Raises InputRefused for what is not `owner/name`."""
    if re.fullmatch(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+", name) is None:
        raise InputRefused(f"GITHUB_NOTICE_REPOSITORY: {name} is not owner/name", hint="give it as owner/name")
    return name


def _title(notice: Notice) -> str:
    """A title knows code spans and references, so backquotes and `#` are taken apart."""
    safe = notice.title.replace("`", "'").replace("#", "#\u200b").replace("@", "@\u200b")
    return cut(safe, _MOST_TITLE)


def _body(notice: Notice) -> str:
    """All text but our own words stands in code: there Markdown, mentions, references and HTML are just characters."""
    drawn = "\n\n".join(_drawn(part) for part in parts_of(notice))
    link = f"\n\n[Open in the console]({notice.link})" if notice.link else ""
    return f"{_fitting(drawn)}{link}\n"


def _drawn(part: Part) -> str:
    blocks = "\n\n".join(code_block(line) for line in _joined(part.lines))
    return f"**{part.title}**\n\n{blocks}" if part.title else blocks


def _joined(lines: tuple[PartLine, ...]) -> list[str]:
    """One block per part; a quote is indented below what it shows."""
    return ["\n".join(f"    {line.text}" if line.is_quote else line.text for line in lines)]


def code_block(text: str) -> str:
    """Fenced by more backquotes than the text has in a row."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"


def _fitting(drawn: str) -> str:
    # Parts are bounded, so this is far away; a body that GitHub refuses would tell nobody.
    return drawn if len(drawn) <= _MOST_BODY else code_block(drawn[:_MOST_BODY].replace("```", "'''"))
