from affidavit.evidence.coverage import SkippedFile, SkipReason, cover


def a_skip(file: str, reason: SkipReason = SkipReason.BINARY, size: int = 10) -> SkippedFile:
    return SkippedFile(file=file, reason=reason, size_bytes=size)


def test_every_file_is_scanned_or_skipped() -> None:
    coverage = cover(scanned_sizes=[5, 7], skipped=[a_skip("a")])
    assert (coverage.files_scanned, coverage.skipped_total, coverage.total_files) == (2, 1, 3)
    assert (coverage.bytes_scanned, coverage.total_bytes, coverage.coverage_pct) == (12, 22, 66.7)


def test_nothing_to_scan_is_no_coverage() -> None:
    assert cover(scanned_sizes=[], skipped=[]).coverage_pct == 0.0


def test_one_missing_file_in_a_million_is_not_full_coverage() -> None:
    assert cover(scanned_sizes=[1] * 99_999, skipped=[a_skip("a")]).coverage_pct == 99.9
    assert cover(scanned_sizes=[1] * 3, skipped=[]).coverage_pct == 100.0


def test_twenty_skipped_files_are_listed_and_all_are_counted_with_the_worst_first() -> None:
    skipped = [a_skip(f"b{n:02d}") for n in range(30)] + [a_skip("z", SkipReason.UNREADABLE)]
    coverage = cover(scanned_sizes=[], skipped=skipped)
    assert (len(coverage.skipped_files), coverage.skipped_total) == (20, 31)
    assert coverage.skipped_files[0].file == "z"
    assert [skip.file for skip in coverage.lost_files] == ["z"]
