"""How much an archive may ask of us before we stop believing it."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


@dataclass(frozen=True, kw_only=True)
class Limits:
    # Real bundles have a few hundred members, the largest seen under three thousand.
    members: int = 20_000
    total_bytes: int = 64 * GIBIBYTE
    # Logs compress 5 to 20 times, the most repetitive about 100 times; deflate cannot exceed 1032.
    ratio: int = 200
    # Below this much output no ratio is judged: a small file of zeros is no bomb.
    ratio_floor: int = 64 * MEBIBYTE
    # How far we read past a refused member to reach the ones behind it.
    passed_over: int = 4 * GIBIBYTE
    # An archive in an archive in an archive is nobody's log bundle.
    depth: int = 2
    # Headers, with all their extensions, are small; one that is not is an attack on memory.
    header_bytes: int = 256 * 1024
    # How far we look for the next good header behind a damaged one.
    resync_bytes: int = 8 * MEBIBYTE
    longest_path: int = 1024
