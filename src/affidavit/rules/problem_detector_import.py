"""Turns a node problem detector's configuration into rules: one for each pattern, with a sample made from it.

Its patterns are Go's, so nearly RE2. They match a message without time and host; ours match the whole line.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from affidavit.errors import InputRefused
from affidavit.matching.pattern_language import Wordings
from affidavit.rules.pattern_text_generation import TOKEN, example
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
    tokens = [_translated_token(token) for token in TOKEN.findall(quoted)]
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
