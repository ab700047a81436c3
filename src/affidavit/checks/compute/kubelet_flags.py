"""Finds kubelet flags that differ from its configuration file. The flag wins, so the file misleads its reader."""

import re
from collections.abc import Iterator, Sequence

from affidavit.checks.compute.structured import json_of, members_of
from affidavit.checks.found import Found, Shown
from affidavit.checks.text import Document, named


def flag_differs(documents: Sequence[Document], *, flag: str, setting: str) -> Iterator[Found]:
    unit = named(documents, "kubelet/kubelet_service.txt")
    settings = {value for each in documents if each is not unit and (value := _setting(each, setting)) is not None}
    if unit is None or len(settings) != 1:
        return
    pattern = re.compile(rf"{re.escape(flag)}[= ](\d{{1,9}})\b", re.ASCII)
    found = [(number, match[1]) for number, text in unit.lines() for match in pattern.finditer(text) if text[:1] != "#"]
    for number, value in found[-1:]:
        if int(value) not in settings:
            yield Shown(unit.path, number, f"{flag} is {value}, {setting} in the configuration is {settings.pop()}")


def _setting(document: Document, setting: str) -> int | None:
    value = members_of(json_of(document)).get(setting)
    return value if type(value) is int else None
