"""The progress line: where it is shown, and that it only goes forward."""

import re
import sys
from pathlib import Path

import pytest

from affidavit.entrypoints.cli import progress


def shares(told: str) -> list[int]:
    return [int(share) for share in re.findall(r"(\d+) %", told)]


def test_the_line_never_goes_back_nor_past_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = tmp_path / "bundle.tar.gz"
    archive.write_bytes(bytes(1000))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(progress.time, "monotonic", iter(range(100)).__next__)
    with progress.progress_line(archive, is_quiet=False) as line:
        for consumed in (100, 600, 50, 300, 900, 1500):  # a nested archive counts its own bytes
            line.unpacked("a.log", consumed, consumed * 10_000)
    told = capsys.readouterr().err
    assert shares(told) == [10, 60, 60, 60, 90, 100]
    megabytes = [int(amount) for amount in re.findall(r"(\d+) MB", told)]
    assert megabytes == [1, 6, 6, 6, 9, 15]
