"""What a report quotes of long lines: the part that was found, or with --full-lines all of it."""

from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

FOUND = "Out of memory: Killed process 4242 (java) total-vm:4194304kB, anon-rss:2097152kB"
SECRET = "password=hunter2-hunter2"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A kernel's line whose telling part stands behind the characters that an index keeps, between two secrets."""
    line = f"Jan 15 10:00:00 ip-10-0-1-7 kernel: {SECRET} {'left ' * 300}{FOUND} {'right ' * 300}{SECRET}"
    path = tmp_path / "messages"
    path.write_text(f"Jan 15 09:59:59 ip-10-0-1-7 kernel: fine\n{line}\nJan 15 10:00:01 ip-10-0-1-7 kernel: fine\n")
    return path


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_long_line_is_quoted_around_what_was_found(log: Path, form: str) -> None:
    said = affidavit("analyze", str(log), "--format", form).stdout
    assert FOUND[:40] in said and "Jan 15 10:00:00 ip-10-0-1-7 kernel: " in said
    assert "[…]" in said and "left " * 100 not in said and "hunter2" not in said


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_full_lines_are_whole_and_hide_secrets(log: Path, form: str) -> None:
    said = affidavit("analyze", str(log), "--format", form, "--full-lines").stdout
    assert "left " * 300 in said and "right " * 300 in said and FOUND in said
    assert "[…]" not in said and "hunter2" not in said
    assert SECRET in affidavit("analyze", str(log), "--format", form, "--full-lines", "--raw").stdout


def test_the_page_quotes_like_the_terminal(log: Path, tmp_path: Path) -> None:
    affidavit("analyze", str(log), "--out", str(tmp_path / "part"))
    affidavit("analyze", str(log), "--out", str(tmp_path / "whole"), "--full-lines")
    part, whole = ((tmp_path / name / "report.html").read_text("utf-8") for name in ("part", "whole"))
    assert FOUND[:40] in part and FOUND in whole
    assert "left " * 300 in whole and "left " * 300 not in part
    assert "hunter2" not in part + whole


def test_a_line_of_usual_length_is_quoted_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "messages"
    path.write_text(f"Jan 15 10:00:00 ip-10-0-1-7 kernel: {FOUND}\n")
    assert f"Jan 15 10:00:00 ip-10-0-1-7 kernel: {FOUND}" in affidavit("analyze", str(path)).stdout
