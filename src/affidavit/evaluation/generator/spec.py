"""Which bundle to generate: whose collector made it, on which system, with which faults and how much noise."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class Layout(StrEnum):
    """Which collector ran on which operating system."""

    AL2 = "al2"
    AL2023 = "al2023"
    UBUNTU = "ubuntu"
    NODE_DIAGNOSTIC = "node_diagnostic"
    BOTTLEROCKET = "bottlerocket"
    BOTTLEROCKET_NESTED = "bottlerocket_nested"
    WINDOWS = "windows"


class Form(StrEnum):
    """How the bundle lies on disk."""

    TAR_GZ = "tar.gz"
    TAR = "tar"
    ZIP = "zip"
    DIRECTORY = "directory"


@dataclass(frozen=True, kw_only=True)
class BundleSpec:
    """One bundle. Noise depends on the seed and the layout only, so a fault adds lines and moves none."""

    layout: Layout
    seed: int = 1
    faults: tuple[str, ...] = ()
    own_faults: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """Faults described by the caller, by name and in the form of `faults/*.yaml`; `faults` may name them."""
    noise_lines: int = 400
    """Steady lines in each busy log; quieter logs get a share of it."""
    instance_id: str = "i-0f3a9c1d7e5b24680"
    collected_at: datetime = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
    booted_at: datetime = datetime(2026, 1, 12, 7, 14, 2, tzinfo=UTC)
    newline: bytes | None = None
    """None is what the collector writes: CRLF on Windows, LF elsewhere."""
