"""Which distributions a package needs, worked out for the machine it will run on, not for this one."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


@dataclass(frozen=True, kw_only=True)
class Target:
    python: str

    @classmethod
    def of_lambda(cls) -> "Target":
        # Not from options.py: that would load the CDK for two digits. A test holds them together.
        return cls(python="3.13")

    @classmethod
    def of_this_interpreter(cls) -> "Target":
        return cls(python=f"{sys.version_info.major}.{sys.version_info.minor}")

    @property
    def environment(self) -> dict[str, str]:
        return {
            "python_version": self.python,
            "python_full_version": f"{self.python}.0",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
            "sys_platform": "linux",
            "platform_system": "Linux",
            "platform_machine": "x86_64",
            "os_name": "posix",
        }


def closure(roots: Sequence[str], target: Target) -> list[str]:
    found: set[str] = set()
    waiting = [(canonicalize_name(root), frozenset[str]()) for root in roots]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        found.add(name)
        for needed in _needs(name, extras, target):
            waiting.append((canonicalize_name(needed.name), frozenset(needed.extras)))
    return sorted(found)


def _needs(name: str, extras: frozenset[str], target: Target) -> list[Requirement]:
    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:
        # Needed there and not here; the lock knows its version, and such backports need nothing themselves.
        return []
    return [needed for line in lines if _applies(needed := Requirement(line), extras, target)]


def _applies(needed: Requirement, extras: frozenset[str], target: Target) -> bool:
    if needed.marker is None:
        return True
    return any(needed.marker.evaluate({**target.environment, "extra": extra}) for extra in ("", *extras))
