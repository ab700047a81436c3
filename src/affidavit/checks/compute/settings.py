"""Checks what a node was told to do: flags, units, configuration files, and names that do not exist."""

import re
from collections.abc import Iterator, Sequence
from functools import cache

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.numbered_lines import Document, named
from affidavit.checks.untrusted_json import json_of, members_of

KUBELET_LOG = "kubelet/kubelet.log"
_NOT_FOUND = re.compile(r"lookup ([\w.-]{4,253}?)(?: on [0-9a-f.:]+)?: no such host", re.ASCII)
# A node that once joined was told a name that existed then.
_JOINED = (b"uccessfully registered node", b"Node became ready")
_REFUSED = re.compile(
    r"(?:invalid configuration: \[?|unknown flag: --|unrecognized feature gate: |unknown field \\?\"(?:\w+\.)*)"
    r"([A-Za-z][\w-]{2,60})",
    re.ASCII,
)
_COMMENTS = ("#", ";", "//")


def flag_differs(documents: Sequence[Document], *, flag: str, setting: str) -> Iterator[Found]:
    """Finds a kubelet flag that differs from its configuration file. The flag wins, so the file misleads its reader."""
    unit = named(documents, "kubelet/kubelet_service.txt")
    settings = {value for each in documents if each is not unit and (value := _setting(each, setting)) is not None}
    if unit is None or len(settings) != 1:
        return
    pattern = re.compile(rf"{re.escape(flag)}[= ](\d{{1,9}})\b", re.ASCII)
    found = [(number, match[1]) for number, text in unit.lines() for match in pattern.finditer(text) if text[:1] != "#"]
    for number, value in found[-1:]:
        if int(value) not in settings:
            yield Shown(unit.path, number, f"{flag} is {value}, {setting} in the configuration is {settings.pop()}")


def line_says(documents: Sequence[Document], *, pattern: str, unless: str = "", beside: str = "") -> Iterator[Found]:
    """Lines with a setting; what the pattern caught is the measured fact. Comments are no settings.

    `beside`: a part of the path of another file, without which the setting is of no use to anybody.
    """
    wanted, excused = _compiled(pattern), _compiled(unless) if unless else None
    others = [document for document in documents if beside and beside in document.path]
    if beside and not others:
        return
    for document in (each for each in documents if each not in others):
        for number, text in document.lines():
            found = None if text.lstrip().startswith(_COMMENTS) else wanted.search(text)
            if found is not None and (excused is None or excused.search(text) is None):
                yield Shown(document.path, number, f"the setting is {found[0].strip()}")


def settings_contradict(
    documents: Sequence[Document], *, one: str, says: str, other: str, while_it_says: str
) -> Iterator[Found]:
    """A setting of file `one` that another file's setting contradicts."""
    left, right = named(documents, one), named(documents, other)
    if left is None or right is None or not any(line_says([right], pattern=while_it_says)):
        return
    for found in line_says([left], pattern=says):
        if isinstance(found, Shown):
            yield Shown(found.path, found.line, f"{found.detail}, which {right.path} contradicts")


def endpoint_unknown(documents: Sequence[Document]) -> Iterator[Found]:
    """The file that tells a kubelet that never joined a name of the API server which, its log says, does not exist."""
    log = named(documents, KUBELET_LOG)
    if log is None or any(sign in log.data for sign in _JOINED):
        return
    refused = (text for _, text in log.lines() if "register node" in text)
    names = {match[1] for text in refused for match in _NOT_FOUND.finditer(text)}
    servers = sorted(name for name in names if ".eks." in name or ".eks-" in name)
    told = [document for document in documents if document is not log]
    for name in servers:
        # The first file in the order of the bundle's set-up: what set-up was given, then what it wrote.
        found = [
            (place, document) for document in sorted(told, key=_setup_order) if (place := _line_of(document, name))
        ]
        for number, document in found[:1]:
            yield Shown(document.path, number, f"the API server is {name}, a name that does not exist")


def refused(documents: Sequence[Document]) -> Iterator[Found]:
    """The setting that the kubelet names as the first reason why it does not start. A later file overrides."""
    log = named(documents, KUBELET_LOG)
    reasons = (match for _, text in log.lines() for match in _REFUSED.finditer(text)) if log is not None else ()
    name = next((match[1] for match in reasons), None)
    if name is None:
        return
    wanted = re.compile(rf"(?:\"{re.escape(name)}\"\s*:|--{re.escape(name)}\b)")
    for document in sorted(documents, key=lambda each: each.path, reverse=True):
        lines = [number for number, text in document.lines() if document is not log and wanted.search(text)]
        if lines:
            yield Shown(document.path, lines[-1], f"the kubelet refuses {name}")
            return


def _setup_order(document: Document) -> tuple[bool, str]:
    return document.path.endswith("kubeconfig.yaml"), document.path


def _line_of(document: Document, name: str) -> int:
    """The first line that gives the name, and complains of nothing; 0 when there is none."""
    lines = (number for number, text in document.lines() if name in text and "no such host" not in text)
    return next(lines, 0)


def _setting(document: Document, setting: str) -> int | None:
    value = members_of(json_of(document)).get(setting)
    return value if type(value) is int else None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)
