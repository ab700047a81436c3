"""Fills the slots of a line template: `@{hostname}`, `@{hex:12}`, `@{klog}`."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from affidavit.evaluation.generator.text.clock_text import stamp

_SLOT = re.compile(r"@\{([A-Za-z0-9_.-]+)(?::([^}]*))?\}")
_TIMES = {
    "klog": "%m%d %H:%M:%S.%f",
    "nano": "%Y-%m-%dT%H:%M:%S.%f",
    "micro": "%Y-%m-%dT%H:%M:%S.%fZ",
    "millis": "%Y-%m-%dT%H:%M:%S.%LZ",
    "seconds": "%Y-%m-%dT%H:%M:%SZ",
    "comma": "%Y-%m-%d %H:%M:%S,%L",
    "epoch": "%s",
}


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Words are what is fixed on this node; everything else is drawn from `rng`."""

    rng: Random
    words: Mapping[str, str]
    times: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    groups: Mapping[str, tuple[Mapping[str, str], ...]] = field(
        default_factory=dict[str, tuple[Mapping[str, str], ...]]
    )
    """`@{any.pod}` draws one mapping of the group "any" and stays with it for the whole text."""

    def write(self, template: str, at: datetime | None = None, local: Mapping[str, str] | None = None) -> str:
        drawn: dict[str, Mapping[str, str]] = {}
        own = local or {}

        def fill(match: re.Match[str]) -> str:
            name, argument = match[1], match[2] or ""
            word = own.get(name) or self.words.get(name)
            if word is not None:
                return word
            group, _, key = name.partition(".")
            if group in self.groups:
                if group not in drawn:
                    drawn[group] = self.rng.choice(self.groups[group])
                return drawn[group][key]
            if name in self.times:
                return stamp(self.times[name], argument)
            if at is not None and (name in _TIMES or name == "at"):
                return self._time(name, argument, at, own.get("pid", "1"))
            return _draw(self.rng, name, argument)

        return _SLOT.sub(fill, template)

    def _time(self, name: str, argument: str, at: datetime, pid: str) -> str:
        text = stamp(at, argument or _TIMES[name])
        if name == "klog":
            return f"{text} {pid:>7}"
        return f"{text}{self.rng.randrange(1000):03d}Z" if name == "nano" else text


def _draw(rng: Random, name: str, argument: str) -> str:
    match name:
        case "hex":
            return f"{rng.getrandbits(4 * int(argument)):0{argument}x}"
        case "int":
            low, high = argument.split(":")
            return str(rng.randint(int(low), int(high)))
        case "digits":
            return "".join(rng.choices("0123456789", k=int(argument)))
        case "byte":
            # A byte that is no UTF-8 travels as the surrogate that `surrogateescape` turns back into it.
            value = int(argument, 16)
            return chr(value if value < 0x80 else 0xDC00 + value)
        case "pick":
            return rng.choice(argument.split("|"))
        case "suffix":
            # The alphabet Kubernetes uses for generated names: no vowels, nothing that reads as a digit.
            return "".join(rng.choices("bcdfghjklmnpqrstvwxz2456789", k=int(argument)))
        case "uuid":
            raw = f"{rng.getrandbits(128):032x}"
            return f"{raw[:8]}-{raw[8:12]}-4{raw[13:16]}-a{raw[17:20]}-{raw[20:]}"
        case _:
            raise ValueError(f"template slot @{{{name}}} is not known; see template_slots.py for the list")
