"""Limits on the size, count and depth of what an archive may unpack to."""

from dataclasses import dataclass

MEBIBYTE = 1 << 20
GIBIBYTE = 1 << 30


@dataclass(frozen=True, kw_only=True)
class UnpackLimits:
    # Real bundles have a few hundred members, the largest seen under three thousand.
    members: int = 20_000
    total_bytes: int = 64 * GIBIBYTE
    # Logs compress 5 to 20 times, the most repetitive about 100 times; deflate cannot exceed 1032.
    ratio: int = 200
    # Below this much output no ratio is judged: a small file of zeros is no bomb.
    ratio_floor: int = 64 * MEBIBYTE
    # How much in all may be unpacked and then dropped for one of these reasons, before the rest is not worth it.
    dropped_bytes: int = 512 * MEBIBYTE
    # How far in all we read past refused members to reach the ones behind them.
    passed_over: int = 4 * GIBIBYTE
    # An archive in an archive in an archive is nobody's log bundle.
    depth: int = 2
    # A header, with all its extensions, is small; one that is not is an attack on memory.
    header_bytes: int = 64 * 1024
    # Header blocks of an archive, extensions included. An honest member has three at most.
    headers: int = 60_000
    # How far in all we look for the next good header behind damaged ones, and how many of those we put up with.
    resync_bytes: int = 256 * MEBIBYTE
    damaged_headers: int = 100
    longest_path: int = 1024
    deepest_path: int = 32
    # Real bundles have a few folders per pod. Making and removing each one costs more than a small file does.
    folders: int = 3_000
