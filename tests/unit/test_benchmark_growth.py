"""A benchmark that nobody ran for a while still runs."""

from benchmarks.growth import patterns_like, scan_of


def test_the_benchmark_of_growth_scans_with_what_the_scan_uses() -> None:
    patterns = patterns_like(["widget failed", "gear stuck in row [0-9]+", "error|fault"], 12)
    assert len(set(patterns)) == 12
    scan_of(patterns, [bytearray(b"the widget failed\nall is well\n\n\n")])()
