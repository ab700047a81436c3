"""UTF-16 as PowerShell writes it: text is read, and offsets stay those of the stored bytes."""

import pytest

from affidavit.evidence.finding import excerpt_of
from affidavit.evidence.utf16 import is_wide, wide_text

TEXT = "\ufeffName   : kubelet\r\nStatus : Stopped\r\n"
OUTPUT = TEXT.encode("utf-16-le")


@pytest.mark.parametrize("head", [OUTPUT, OUTPUT[2:] * 3, TEXT.encode("utf-16-be"), TEXT[1:].encode("utf-16-be") * 3])
def test_utf_16_is_known_by_its_mark_or_by_many_bytes_that_look_like_it(head: bytes) -> None:
    assert is_wide(head)


def test_both_orders_of_bytes_read_alike_between_line_feeds() -> None:
    first, second, _ = TEXT.encode("utf-16-be").split(b"\n")
    assert (wide_text(first), wide_text(second)) == ("Name   : kubelet", "Status : Stopped")


@pytest.mark.parametrize(
    "head", [b"", b"\xff\xfe", OUTPUT[2:40], b"\xff\xfe" + bytes(range(256)), b"\xff\xfe" + bytes(64), bytes(200)]
)
def test_other_bytes_are_not_taken_for_it(head: bytes) -> None:
    assert not is_wide(head)


def test_lines_between_line_feed_bytes_read_as_text() -> None:
    first, second, rest = OUTPUT.split(b"\n")
    assert (wide_text(first), wide_text(second)) == ("Name   : kubelet", "Status : Stopped")
    assert rest == b"\0"


def test_an_excerpt_shows_the_text_of_such_a_line() -> None:
    assert excerpt_of(OUTPUT.split(b"\n")[1]) == "Status : Stopped"


@pytest.mark.parametrize(
    "line", [b"plain", b"\0" * 40 + b"Jan 15 10:25:03 after a crash", b"a\0", b"\0\0\0\0\0\0\0\0\0\0"]
)
def test_other_lines_with_nul_bytes_are_left_as_they_are(line: bytes) -> None:
    assert wide_text(line) is None
    assert excerpt_of(line) == line.decode()
