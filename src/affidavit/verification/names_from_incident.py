"""Names that a diagnosis may use because the incident gives them, and the text of its alert."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class About:
    """`alert` was written by whoever raised it. It may be repeated, but it is no evidence."""

    names: tuple[str, ...] = ()
    alert: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        return (*self.names, *self.alert.splitlines())
