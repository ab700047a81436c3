"""Turns a node problem detector's configuration into rules: one for each pattern, with a sample made from it.

Its patterns are Go's, so nearly RE2. They match a message without time and host; ours match the whole line.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from affidavit.errors import InputRefused
from affidavit.matching.patterns import Wordings
from affidavit.rules.rule import Rule

AREA = "npd"
SEVERITIES = {"temporary": "medium", "permanent": "high"}
_JOURNAL = "Jan 15 10:25:03 ip-10-0-1-23 "
_PREFIXES = {
    "kernel": "[ 8123.551210] ",
    "docker": f"{_JOURNAL}dockerd[3456]: ",
    "systemd": f"{_JOURNAL}systemd[1]: ",
    "any": "",
}
_MOST_REPEATED = 64
_TOKEN = re.compile(
    r"\\x\{[0-9A-Fa-f]+\}|\\x[0-9A-Fa-f]{2}|\\."
    r"|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"
    r"|\(\?P?<\w+>|\(\?[a-zA-Z-]*[:)]|[*+?]\??|\{\d+(?:,\d*)?\}\??|.",
    re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Left:
    """A rule of the configuration that did not become one of ours, and why."""

    reason: str
    pattern: str
    why: str


@dataclass(frozen=True, kw_only=True)
class Imported:
    rules: tuple[Rule, ...]
    left: tuple[Left, ...]


@dataclass(frozen=True, kw_only=True)
class Example:
    """A text that a pattern matches, and how many of its characters every match must have."""

    text: str
    fixed: int


class _DetectorRule(BaseModel):
    type: str = "temporary"
    condition: str = ""
    reason: str
    pattern: str = ""
    path: str = ""
    args: tuple[str, ...] = ()


class _DetectorConfig(BaseModel):
    plugin: str = ""
    pluginConfig: dict[str, Any] = {}  # noqa: N815  # the detector's own spelling
    logPath: str = ""  # noqa: N815  # the detector's own spelling
    source: str = ""
    rules: tuple[_DetectorRule, ...]


@dataclass(frozen=True, kw_only=True)
class _Watch:
    """What a rule of the configuration looks for."""

    reads: str
    pattern: str
    times: int = 1
    within_seconds: int = 0


def import_detector(text: str, *, taken_names: Sequence[str] = ()) -> Imported:
    """`taken_names` are rule names that exist already: names are unique in a pack.

    Raises InputRefused when the text is no configuration of the detector.
    """
    config = _parsed(text)
    ids, names = set[str](), set(taken_names)
    rules: list[Rule] = []
    left: list[Left] = []
    for source in config.rules:
        try:
            rule = _rule(source, _watch(source, config), ids, names)
        except InputRefused as error:
            left.append(Left(reason=source.reason, pattern=source.pattern, why=str(error)))
        else:
            rules.append(rule)
            ids.add(rule.id)
            names.add(rule.name)
    return Imported(rules=tuple(rules), left=tuple(left))


def rule_file(rule: Rule) -> str:
    """The rule as the text of its file."""
    content = rule.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)


def commented_file(left: Left) -> str:
    """What could not be imported, as a file of comments."""
    lines = [
        f"Not imported: {left.why}",
        "Write `match` and a line that it matches, and rename this file to *.yaml.",
        f"name: {json.dumps(left.reason)}",
        f"match: [{json.dumps(left.pattern)}]",
    ]
    return "".join(f"# {line}\n" for line in lines)


def slug(reason: str) -> str:
    """`OOMKilling` becomes `oom-killing`."""
    return re.sub(r"[^a-z0-9]+", "-", _words(reason).lower()).strip("-") or "rule"


def example(pattern: str) -> Example:
    """A short text that the pattern matches; `.*` and the like are taken once. Verify it, because `\\b` is ignored."""
    return _Reader(_TOKEN.findall(pattern)).alternatives()


def _parsed(text: str) -> _DetectorConfig:
    try:
        return _DetectorConfig.model_validate(json.loads(text))
    except (ValueError, RecursionError) as error:
        detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise InputRefused(
            f"this is no configuration of the node problem detector: {detail}",
            hint='it is JSON with "source" and "rules", such as its kernel-monitor.json',
        ) from error


def _watch(source: _DetectorRule, config: _DetectorConfig) -> _Watch:
    if source.pattern:
        return _Watch(reads=_reads(config), pattern=source.pattern)
    options = dict(part.lstrip("-").split("=", 1) for part in source.args if "=" in part)
    if "pattern" not in options:
        raise InputRefused(f"it runs {source.path or 'a program'}, which a bundle cannot answer")
    journal = options.get("journald-source", "")
    return _Watch(
        reads=journal if journal in _PREFIXES else _reads(config),
        pattern=options["pattern"],
        times=_number(options.get("count", "1")),
        within_seconds=_seconds(options.get("lookback", "")),
    )


def _reads(config: _DetectorConfig) -> str:
    hints = f"{config.plugin} {config.source} {config.logPath} {config.pluginConfig.get('source', '')}".lower()
    for words, component in ((("kmsg", "kern"), "kernel"), (("docker",), "docker"), (("systemd",), "systemd")):
        if any(word in hints for word in words):
            return component
    return "any"


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 1


def _seconds(span: str) -> int:
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(int(count) * units[unit] for count, unit in re.findall(r"(\d{1,6})([hms])", span))


def _rule(source: _DetectorRule, watch: _Watch, ids: set[str], names: set[str]) -> Rule:
    pattern = _translated(watch.pattern)
    fires, quiet = _samples(pattern, _PREFIXES[watch.reads])
    rule_id = _free(f"{AREA}.{slug(source.reason)[:60]}", ids, "-")
    lasting = f" and sets the condition {source.condition}" if source.condition else ""
    content: dict[str, object] = {
        "id": rule_id,
        "status": "draft",
        "name": _free(_words(source.reason)[:50].ljust(4, "."), names, " "),
        "means": f"The node problem detector calls this line {source.reason[:80]}.",
        "severity": SEVERITIES.get(source.type, "medium"),
        "because": f"The node problem detector counts it as {source.type}{lasting}."[:300],
        "signal": rule_id,
        "reads": [watch.reads],
        "match": [pattern],
        "first_steps": ["Read the lines around it."],
        "samples": {"fires": [fires], "quiet": [quiet]},
    }
    if watch.times > 1 and watch.within_seconds:
        content["repeated"] = {"times": watch.times, "within_seconds": watch.within_seconds}
    try:
        return Rule.model_validate(content)
    except ValidationError as error:
        problem = error.errors()[0]
        raise InputRefused(f"{problem['loc'][0]}: {problem['msg']}") from error


def _words(reason: str) -> str:
    """`OOMKilling` becomes `OOM killing`: a capital that begins a word is made small, a run of them stays."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", reason)
    text = " ".join(word if len(word) > 1 and word.isupper() else word.lower() for word in words)
    return text[:1].upper() + text[1:]


def _free(wanted: str, taken: set[str], joint: str) -> str:
    candidates = (wanted, *(f"{wanted}{joint}{number}" for number in range(2, len(taken) + 3)))
    return next(candidate for candidate in candidates if candidate not in taken)


def _translated(pattern: str) -> str:
    """The same pattern for whole lines in our dialect. Raises InputRefused when there is none."""
    quoted = re.sub(r"\\Q(.*?)(?:\\E|$)", lambda part: re.escape(part[1]), pattern, flags=re.DOTALL)
    tokens = [_translated_token(token) for token in _TOKEN.findall(quoted)]
    bare = re.sub(r"^(?:\.[*+])+", "", "".join(tokens))
    translated = re.sub(r"(?<!\\)(?:\.\*)+$", "", bare)
    Wordings((translated,))
    return translated


def _translated_token(token: str) -> str:
    if token == r"\n":
        raise InputRefused(f"it looks at several lines at once ({token}), and a rule sees one")
    if token.startswith("["):
        return token.replace("[:space:]", r" \t")
    if token.startswith("(?") and "s" in token and token[-1] in ":)" and "<" not in token:
        return re.sub(r"^\(\?\)$", "", token.replace("s", ""))
    if not token.isascii():
        return "".join(f"\\x{byte:02x}" for byte in token.encode())
    # The message begins after time, host and program, so `^` cannot mean the start of the line.
    return {"^": "", r"\A": "", r"\z": "$", r"\Z": "$", r"\v": r"\x0b"}.get(token, token)


def _samples(pattern: str, prefix: str) -> tuple[str, str]:
    """A line that matches, and one that just does not: the same line, cut short."""
    wordings = Wordings((pattern,))
    # A pattern and its example are bytes; a sample is text.
    text = example(pattern).text.encode("latin-1").decode("utf-8", "replace")
    if not wordings.match((prefix + text).encode()):
        raise InputRefused("no line that it matches could be made up")
    words = text.split(" ")
    shorter = (prefix + " ".join(words[:count]).rstrip() for count in range(len(words) - 1, 0, -1))
    letters = (prefix + text[:count].rstrip() for count in range(len(text) - 1, 3, -1))
    for line in (*shorter, *letters):
        if not wordings.match(line.encode()):
            return prefix + text, line
    raise InputRefused("no line that it nearly matches could be made up")


class _Reader:
    """Reads a pattern from left to right. Malformed ones give some text that then does not match."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def alternatives(self) -> Example:
        ways = [self._sequence()]
        while self._peek() == "|":
            self._at += 1
            ways.append(self._sequence())
        return Example(text=ways[0].text, fixed=min(way.fixed for way in ways))

    def _sequence(self) -> Example:
        parts = list(self._parts())
        return Example(text="".join(part.text for part in parts), fixed=sum(part.fixed for part in parts))

    def _parts(self) -> Iterator[Example]:
        while self._peek() not in ("", "|", ")"):
            part = self._atom()
            least, wanted = self._repetition()
            yield Example(text=part.text * wanted, fixed=part.fixed * least)

    def _atom(self) -> Example:
        token = self._peek()
        self._at += 1
        if not token.startswith("("):
            return _of_token(token)
        if token.startswith("(?") and token.endswith(")"):
            return Example(text="", fixed=0)
        inside = self.alternatives()
        self._at += 1
        return inside

    def _repetition(self) -> tuple[int, int]:
        """The least that is allowed, and how often the example takes it."""
        token = self._peek()
        if token[:1] not in ("*", "+", "?", "{") or token in ("", "{"):
            return 1, 1
        self._at += 1
        if token[0] == "{":
            least = min(int(re.findall(r"\d+", token)[0]), _MOST_REPEATED)
            return least, least
        return {"*": (0, 1), "+": (1, 1), "?": (0, 0)}[token[0]]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""


def _of_token(token: str) -> Example:
    if token in ("^", "$", r"\b", r"\B", r"\A", r"\z"):
        return Example(text="", fixed=0)
    if token == "." or token.startswith("[") or re.fullmatch(r"\\[dDwWsS]", token):
        return Example(text=_one_of(token), fixed=0)
    if token.startswith(r"\x"):
        return Example(text=chr(min(int(token[2:].strip("{}"), 16), 255)), fixed=1)
    escaped = {"t": "\t", "r": "\r", "f": "\f", "a": "\a"}
    return Example(text=escaped.get(token[1:], token[1:]) if len(token) > 1 else token, fixed=1)


def _one_of(token: str) -> str:
    try:
        wordings = Wordings((f"^{token}$",))
    except InputRefused:
        return "x"
    return next((char for char in "x7 /-:.=ABCabc" if wordings.match(char.encode())), _rarer(wordings))


def _rarer(wordings: Wordings) -> str:
    return next((chr(code) for code in range(32, 127) if wordings.match(bytes([code]))), "x")
