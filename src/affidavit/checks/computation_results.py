"""Results of a computation: a line with a measured fact, or the reason why nothing could be measured."""

import re
from dataclasses import dataclass

# A detail may repeat names from the bundle, which can be of any length.
LONGEST_DETAIL = 300
_HALVES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class Shown:
    """`detail` is the measured fact, such as `nf_conntrack_count is 97 % of nf_conntrack_max (254331 of 262144)`.

    It can hold text of the bundle, so it is shown like an excerpt: never raw.
    """

    path: str
    line: int
    detail: str

    def __post_init__(self) -> None:
        detail = whole_characters(self.detail)
        if len(detail) > LONGEST_DETAIL:
            detail = f"{detail[: LONGEST_DETAIL - 1]}…"
        object.__setattr__(self, "detail", detail)


@dataclass(frozen=True)
class NotComputable:
    path: str
    reason: str


Found = Shown | NotComputable


def whole_characters(text: str) -> str:
    """JSON can hold half of a surrogate pair, which no file and no answer can: U+FFFD stands for it."""
    return text if text.isascii() else _HALVES.sub("\ufffd", text)
