"""The schema of a check: a number computed from command output, and what it means. One file each, with samples."""

import re
from functools import cached_property
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from affidavit.bundle.file_roles import glob_pattern
from affidavit.rules.rule import Described

Scalar = int | float | str
Argument = Scalar | tuple[Scalar, ...]


class _Data(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class LineOf(_Data):
    in_: Annotated[str, Field(alias="in")]
    line: Annotated[int, Field(ge=1)]


class FiringSample(_Data):
    """Files of a bundle, and exactly the lines that are shown of them."""

    files: Annotated[dict[str, str], Field(min_length=1)]
    shows: Annotated[tuple[LineOf, ...], Field(min_length=1)]


class QuietSample(_Data):
    files: Annotated[dict[str, str], Field(min_length=1)]


class CheckSamples(_Data):
    fires: Annotated[tuple[FiringSample, ...], Field(min_length=1)]
    quiet: Annotated[tuple[QuietSample, ...], Field(min_length=1)]


class Check(Described):
    only_first: Annotated[int | None, Field(ge=1024)] = None
    """Read only so many bytes of each file, because the rest is large and of no use."""
    compute: str
    arguments: Annotated[dict[str, Argument], Field(default_factory=dict)]
    samples: CheckSamples

    def root_of(self, path: str) -> str | None:
        """The part of the path before what `reads` names; None when the check does not read the file.

        Files with the same root are computed on together: a bundle inside a bundle is another node's state.
        """
        for pattern in self.globs:
            if pattern.fullmatch(path):
                return _root(path, pattern)
        return None

    @cached_property
    def globs(self) -> tuple[re.Pattern[str], ...]:
        return tuple(glob_pattern(glob) for glob in self.reads)


def _root(path: str, pattern: re.Pattern[str]) -> str:
    """A glob matches from the right, so the shortest end of the path that matches is the part it names."""
    parts = path.split("/")
    for count in range(1, len(parts) + 1):
        if pattern.fullmatch("/".join(parts[-count:])):
            return "/".join(parts[:-count])
    return ""
