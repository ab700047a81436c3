"""What a computation yields: a line with a measured fact, or why it could not measure."""

from dataclasses import dataclass

# A detail may repeat names from the bundle, which can be of any length.
LONGEST_DETAIL = 300


@dataclass(frozen=True)
class Shown:
    """`detail` is the measured fact, such as `nf_conntrack_count is 97 % of nf_conntrack_max (254331 of 262144)`.

    It can hold text of the bundle, so it is shown like an excerpt: never raw.
    """

    path: str
    line: int
    detail: str

    def __post_init__(self) -> None:
        if len(self.detail) > LONGEST_DETAIL:
            object.__setattr__(self, "detail", f"{self.detail[: LONGEST_DETAIL - 1]}…")


@dataclass(frozen=True)
class NotComputable:
    path: str
    reason: str


Found = Shown | NotComputable
