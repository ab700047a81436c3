"""Many lines' times at once are what each line's time is alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from affidavit.index.times import bulk_stamps
from affidavit.index.times.bulk_stamps import prefixes, stamps_of
from affidavit.index.times.timestamps import NO_STAMP, PREFIX, Stamp, StampKind, stamp_of

DAYS = [b"Jan 15", b"Feb 29", b"Feb 30", b"Jan  5", b"Xyz 10", b"jan 10"]
JOURNAL = b" 10:25:03 ip-10-0-1-23 "
TAGS = [b"kubelet[34]: ", b"kernel: ", b"snap", b"a" * 118 + b": ", b"a" * 300 + b": ", b"no tag here "]
INNER = [
    b"",
    b"E0115 10:25:02.999001   34 x.go:1] x",
    b"W0230 10:25:02.999001",
    b"I0115 10:25:02.99900",
    b"E0115 10-25:02.999001",
    b'time="2026-01-15T10:25:03.123456789Z" level=x',
    b'time="2026-01-15T10:25:03Z" level=x',
    b"time=2026-01-15T10:25:03.123456789Z x",
    b"text",
    b"[   12.345678] x",
]
WHOLE = [
    b"",
    b"2026-01-15T10:25:03.123456789Z stderr F x",
    b"2026-02-30T10:25:03.123456789Z stderr F x",
    b"1969-01-15T10:25:03.123456789Z x",
    b"2026-01-15T10:25:03.12345678 Z x",
    b"2026-01-15T10:25:03.123456789",
    b"[    0.000000] x",
    b"[12345.678901] x",
    b"[123456789.678901] x",
    b"[1234567890.678901] x",
    b"[  1 3.678901] x",
    b"[     .678901] x",
    b"[    1.67890] x",
    b"[    1.678901",
    b"[-   1.678901] x",
    b"<6>[    1.678901] x",
    b"[Thu Jan 15 10:25:03 2026] x",
    b'{"ts":"2026-01-15T10:25:03.123Z"}',
]
journal_lines = st.builds(
    lambda day, tag, inner: day + JOURNAL + tag + inner,
    st.sampled_from(DAYS),
    st.sampled_from(TAGS),
    st.sampled_from(INNER),
)


def mangled(line: bytes, at: int, by: int, length: int) -> bytes:
    """One byte replaced, then cut."""
    if not line:
        return line
    at %= len(line)
    return (line[:at] + bytes([by]) + line[at + 1 :])[: max(1, length)].replace(b"\n", b" ")


any_line = st.one_of(journal_lines, st.sampled_from(WHOLE))
lines = st.lists(
    st.one_of(any_line, st.builds(mangled, any_line, st.integers(0, 80), st.integers(0, 255), st.integers(0, 200))),
    min_size=1,
    max_size=30,
)


def in_bulk(texts: list[bytes]) -> list[Stamp]:
    block = bytearray(b"\n".join(texts) + bytes(PREFIX))
    lengths = np.array([len(text) for text in texts], dtype=np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths[:-1] + 1)))
    clocks, stamps = stamps_of(prefixes(block, starts), lengths)
    return [(StampKind(clock), stamp) for clock, stamp in zip(clocks.tolist(), stamps.tolist(), strict=True)]


@settings(max_examples=500, deadline=None)
@given(texts=lines)
def test_bulk_reads_every_line_as_it_is_read_alone(texts: list[bytes]) -> None:
    assert in_bulk(texts) == [stamp_of(text[:PREFIX]) for text in texts]


def test_the_forms_of_big_logs_are_not_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def one_by_one(line: bytes) -> Stamp:
        asked.append(line)
        return NO_STAMP

    monkeypatch.setattr(bulk_stamps, "stamp_of", one_by_one)
    in_bulk([WHOLE[1], WHOLE[6], *(b"Jan 15" + JOURNAL + TAGS[0] + inner for inner in (*INNER[:2], INNER[5]))])
    assert asked == []


@pytest.mark.parametrize(
    "line", [WHOLE[1], WHOLE[6], *(b"Jan 15" + JOURNAL + TAGS[0] + inner for inner in (b"", INNER[1], INNER[5]))]
)
def test_what_a_block_held_before_is_not_read_as_part_of_its_last_line(line: bytes) -> None:
    row = np.frombuffer(line.ljust(PREFIX), dtype=np.uint8)
    lengths = np.arange(len(line) + 1)
    clocks, stamps = stamps_of(np.tile(row, (len(lengths), 1)), lengths)
    alone = [stamp_of(line[:length]) for length in lengths.tolist()]
    assert list(zip(clocks.tolist(), stamps.tolist(), strict=True)) == alone
