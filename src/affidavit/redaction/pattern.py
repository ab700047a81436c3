"""One kind of text that is hidden: RE2 on bytes, with samples that are checked when the catalog is loaded."""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class PatternKind(StrEnum):
    SECRET = "secret"
    PERSONAL = "personal"


class Finder(StrEnum):
    """Secrets that no single expression describes, because what makes them secret stands on another line."""

    PRIVATE_KEY = "private_key"
    KUBERNETES_SECRET = "kubernetes_secret"
    CSV_COLUMN = "csv_column"


class Sample(BaseModel):
    """A text, and the part of it that has to go.

    Both may be given in pieces that are joined: written whole, scanners of repositories take a made-up token for a
    leaked one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str | tuple[str, ...]
    hides: str | tuple[str, ...]

    @property
    def whole(self) -> str:
        return "".join(self.text)

    @property
    def hidden(self) -> str:
        return "".join(self.hides)


class Samples(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    hidden: tuple[Sample, ...] = Field(min_length=1)
    kept: tuple[str, ...] = ()


class Pattern(BaseModel):
    """`match` hides its group `hide`, or all of it when there is none. `{{word}}` stands for an entry of `words.yaml`.

    What would be hidden is kept when it matches one of `unless`, or lacks one of `needs`: a placeholder is no
    password, and the name of a Kubernetes secret is no secret. With a `finder`, `match` only says when to ask it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = Field(pattern=r"^[a-z0-9]+(?:_[a-z0-9]+)*$")
    match: str
    finder: Finder | None = None
    unless: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    samples: Samples


class PatternFile(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: PatternKind
    patterns: tuple[Pattern, ...]
