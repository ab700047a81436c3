"""`python -m release.selection agent aws`: the part of requirements.lock that our core and these extras need.

It runs before anything is installed, so it needs nothing but Python. The lock says of each package what asked for it;
following that from the roots gives everything that they pull in, with its hashes.
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# What installs our own checkout, without which nothing runs.
BUILD = ("editables", "hatchling")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ASKED = re.compile(r"^    #(?: via)? +([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Locked:
    """A package in the lock: its lines, and the packages that asked for it."""

    name: str
    text: str
    asked_by: frozenset[str]


def main(extras: Sequence[str]) -> None:
    sys.stdout.write(selection((ROOT / "requirements.lock").read_text(), (ROOT / "pyproject.toml").read_text(), extras))


def selection(lock: str, project: str, extras: Sequence[str]) -> str:
    """Raises KeyError for an extra that the project does not have."""
    packages = [*_packages(lock)]
    needed = {*BUILD, *_roots(tomllib.loads(project)["project"], extras)}
    while more := {each.name for each in packages if each.asked_by & needed} - needed:
        needed |= more
    return "".join(each.text for each in packages if each.name in needed)


def _roots(project: dict[str, Any], extras: Sequence[str]) -> Iterator[str]:
    wanted = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return (_normal(requirement) for requirements in wanted for requirement in requirements)


def _packages(lock: str) -> Iterator[Locked]:
    for text in re.split(r"^(?=[A-Za-z0-9])", lock, flags=re.MULTILINE):
        if found := _NAME.match(text):
            asked_by = frozenset(map(_normal, _ASKED.findall(text)))
            yield Locked(name=_normal(found[0]), text=text, asked_by=asked_by)


def _normal(requirement: str) -> str:
    """The name at the beginning of a requirement, as the index spells it."""
    found = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


if __name__ == "__main__":
    main(sys.argv[1:])
