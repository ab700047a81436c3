"""What a line says about its time, in every format that bundles hold."""

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from affidavit.index.times.bundle_clock import UNKNOWN, BundleClock, read_clock, time_of, times_of
from affidavit.index.times.timestamps import NO_STAMP, StampKind, stamp_of

COLLECTED = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
BOOTED = datetime(2026, 1, 10, 8, 0, tzinfo=UTC)


def a_clock(collected: datetime | None = COLLECTED, booted: datetime | None = BOOTED) -> BundleClock:
    return BundleClock(
        collected_at=collected, collected_from="the test", booted_at=booted, booted_from="the test", gaps=()
    )


def time_on(line: bytes, clock: BundleClock | None = None) -> str | None:
    kind, value = stamp_of(line)
    resolved = (clock or a_clock()).resolve(np.array([kind], dtype=np.int8), np.array([value], dtype=np.int64))
    moment = time_of(int(resolved[0]))
    return moment.isoformat().replace("+00:00", "Z") if moment is not None else None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"Jan 15 10:25:03 ip-10-0-1-23 systemd[1]: Started x.", "2026-01-15T10:25:03Z"),
        (b"Jan  5 10:25:03 ip-10-0-1-23 kernel: [ 12.3] x", "2026-01-05T10:25:03Z"),
        (b"Thu 2026-01-15 10:25:03 UTC ip-10-0-1-23 kernel: x", "2026-01-15T10:25:03Z"),
        (b"4,1234,60000000,-;Out of memory", "2026-01-10T08:01:00Z"),
        (b"Jan 15 10:25:03.123456 ip-10-0-1-23 kernel: x", "2026-01-15T10:25:03.123456Z"),
        (b'Jan 15 10:25:03 h kubelet[34]: E0115 10:25:02.999001   34 x.go:1] "x"', "2026-01-15T10:25:02.999001Z"),
        (b'Jan 15 10:25:03 h containerd[3]: time="2026-01-15T10:25:03.5Z" level=x', "2026-01-15T10:25:03.500000Z"),
        (b"E0115 10:25:03.123456    3456 kubelet.go:1] x", "2026-01-15T10:25:03.123456Z"),
        (b"2026-01-15T10:25:03.123456789Z stderr F x", "2026-01-15T10:25:03.123456Z"),
        (b"2026-01-15T10:25:03.123456+0200 host kubelet[1]: x", "2026-01-15T08:25:03.123456Z"),
        (b"2026-01-15T10:25:03-05:30 host x: y", "2026-01-15T15:55:03Z"),
        (b"2026-01-15 10:25:03,123 - util.py[DEBUG]: x", "2026-01-15T10:25:03.123000Z"),
        (b'time="2026-01-15T10:25:03Z" level=info', "2026-01-15T10:25:03Z"),
        (b'{"level":"info","ts":"2026-01-15T10:25:03.123Z","msg":"x"}', "2026-01-15T10:25:03.123000Z"),
        (b'{"level":"info","ts":1768472703.5,"msg":"x"}', "2026-01-15T10:25:03.500000Z"),
        (b'{"ts":1768472703123.456,"caller":"x.go:1","msg":"x","v":0}', "2026-01-15T10:25:03.123456Z"),
        (b'{"ts":1768472703123,"msg":"x"}', "2026-01-15T10:25:03.123000Z"),
        (
            b'"0","EC2AMAZ-X","System.Byte[]","5012","(0)","0","Information","E0115 10:25:03.123456 5012 x.go:1] x"',
            "2026-01-15T10:25:03.123456Z",
        ),
        (b'"E0115 10:25:03.123456    3478 x.go:1] ""x""","0","EKS"', "2026-01-15T10:25:03.123456Z"),
        (b'"0","EC2AMAZ-X","nothing dated","E1301 10:25:03.123456 x"', None),
        (b"[Thu Jan 15 10:25:03 2026] x", "2026-01-15T10:25:03Z"),
        (b"[   12.345678] x", "2026-01-10T08:00:12.345678Z"),
        (b'"1/15/2026 10:25:03 PM","x"', "2026-01-15T22:25:03Z"),
        (b"no time at all", None),
        (b"[ERROR] plugin/errors: x", None),
        (b"Jan 32 10:25:03 h x: y", None),
        (b"E1301 10:25:03.123456 x", None),
        (b"Dec 31 43:11:46 h x: y", None),
        (b"Dec 31 23:60:46 h x: y", None),
        (b"2026-01-15T24:00:00Z x", None),
        (b"2026-01-15T23:59:60.123456789Z stderr F x", "2026-01-16T00:00:00.123456Z"),
        (b"2026-01-15T23:59:61.123456789Z stderr F x", None),
        (b"[Thu Jan 15 25:00:00 2026] x", None),
        (b'"1/15/2026 10:77:03 PM","x"', None),
        (b"Jan 15 10:25:03 h kubelet[34]: E0115 25:25:02.999001   34 x.go:1] x", "2026-01-15T10:25:03Z"),
        (b"", None),
    ],
)
def test_every_format_of_a_bundle_is_read(line: bytes, expected: str | None) -> None:
    assert time_on(line) == expected


def test_a_december_line_in_a_january_bundle_is_last_years() -> None:
    assert time_on(b"Dec 31 23:59:59 h x: y") == "2025-12-31T23:59:59Z"
    assert time_on(b"Jan 15 10:29:59 h x: y") == "2026-01-15T10:29:59Z"


def test_a_line_up_to_a_day_after_the_collection_is_this_years_and_later_ones_last_years() -> None:
    assert time_on(b"Jan 16 10:00:00 h x: y") == "2026-01-16T10:00:00Z"
    assert time_on(b"Jan 17 10:00:00 h x: y") == "2025-01-17T10:00:00Z"


def test_new_years_eve_collections_take_lines_of_the_next_morning() -> None:
    clock = a_clock(collected=datetime(2025, 12, 31, 23, 59, tzinfo=UTC))
    assert time_on(b"Jan  1 00:00:01 h x: y", clock) == "2026-01-01T00:00:01Z"


def test_the_29th_of_february_is_of_the_last_leap_year() -> None:
    assert time_on(b"Feb 29 12:00:00 h x: y") == "2024-02-29T12:00:00Z"


def test_without_a_collection_time_a_line_without_a_year_has_no_time() -> None:
    assert time_on(b"Jan 15 10:25:03 h x: y", a_clock(collected=None)) is None
    assert time_on(b"2026-01-15T10:25:03Z x", a_clock(collected=None)) is not None


def test_without_a_boot_time_dmesg_has_no_time() -> None:
    assert time_on(b"[   12.345678] x", a_clock(booted=None)) is None


@given(st.binary(max_size=300))
def test_no_line_breaks_the_reader(line: bytes) -> None:
    clock, value = stamp_of(line)
    assert (clock is StampKind.NONE) == ((clock, value) == NO_STAMP)


@given(st.datetimes(min_value=datetime(2025, 1, 17), max_value=datetime(2026, 1, 15, 10, 30)))
def test_any_line_of_the_year_before_a_collection_gets_its_own_year(moment: datetime) -> None:
    line = moment.strftime("%b %d %H:%M:%S h x: y").encode()
    assert time_on(line) == moment.replace(microsecond=0).isoformat() + "Z"


def _logs(folder: Path, files: dict[str, bytes]) -> dict[str, Path]:
    logs: dict[str, Path] = {}
    for number, (path, content) in enumerate(files.items()):
        logs[path] = folder / str(number)
        logs[path].write_bytes(content)
    return logs


DMESG = {
    "kernel/dmesg.current": b"[    0.000000] Linux\n[  100.500000] x\n",
    "kernel/dmesg.human.current": b"[Sat Jan 10 08:00:00 2026] Linux\n[Sat Jan 10 08:01:40 2026] x\n",
}


@pytest.mark.parametrize(
    ("files", "booted", "source"),
    [
        (
            {"system/procstat.txt": b"cpu 1 2\nbtime 1768032000\n", **DMESG},
            "2026-01-10T08:00:00",
            "system/procstat.txt",
        ),
        (DMESG, "2026-01-10T08:00:00", "dmesg.human.current"),
        (
            {"journalctl-boots": b" 0 " + b"a" * 32 + b" Sat 2026-01-10 08:00:07 UTC\xe2\x80\x94Thu 2026-01-15"},
            "2026-01-10T08:00:07",
            "journalctl-boots",
        ),
        (
            {"system/last_reboot.txt": b"reboot   system boot  5.10.0-1.amzn2   Sat Jan 10 08:00   still running\n"},
            "2026-01-10T08:00:00",
            "last_reboot",
        ),
        (
            {"kernel/dmesg.human.current": b"[Sat Jan 10 08:00:00 2026] Linux version 6.12.40\n"},
            "2026-01-10T08:00:00",
            "dmesg.human.current",
        ),
        # The ring buffer has lost its beginning.
        ({"kernel/dmesg.human.current": b"[Sat Jan 10 08:00:00 2026] eth0: link up\n"}, None, "unknown"),
        ({"kernel/dmesg.current": b"[ 1.000000] x\n"}, None, "unknown"),
    ],
)
def test_boot_time_comes_from_whatever_the_bundle_shows(
    tmp_path: Path, files: dict[str, bytes], booted: str | None, source: str
) -> None:
    clock = read_clock(name="eks_x_2026-01-15_1030-UTC_0.7.9.tar.gz", logs=_logs(tmp_path, files), modified=None)
    assert (clock.booted_at.isoformat()[:19] if clock.booted_at else None, clock.booted_from) == (booted, source)


@pytest.mark.parametrize(
    ("name", "line", "modified", "year", "source"),
    [
        ("eks_i-1_2026-01-15_1030-UTC_0.7.9.tar.gz", b"no date", None, 2026, "bundle name"),
        ("b.tar.gz", b"2025-03-01T00:00:00Z x", None, 2025, "newest dated line"),
        ("eks_i-1_2026-01-15_1030-UTC.tar.gz", b"2026-01-15T10:29:00Z x", None, 2026, "newest dated line"),
        ("eks_i-1_2026-01-15_1030-UTC.tar.gz", b"2025-03-01T00:00:00Z x", None, 2026, "bundle name"),
        ("b.tar.gz", b"no date", datetime(2024, 5, 1, tzinfo=UTC), 2024, "file modification times"),
        ("b.tar.gz", b"no date", datetime(1970, 1, 1, tzinfo=UTC), None, "unknown"),
        ("b.tar.gz", b"no date", None, None, "unknown"),
    ],
)
def test_collection_time_comes_from_content_then_name_then_files(
    tmp_path: Path, name: str, line: bytes, modified: datetime | None, year: int | None, source: str
) -> None:
    clock = read_clock(name=name, logs=_logs(tmp_path, {"a.log": line + b"\n"}), modified=modified)
    assert (clock.collected_at.year if clock.collected_at else None, clock.collected_from) == (year, source)
    assert bool(clock.gaps) == (source in ("file modification times", "unknown"))


@pytest.mark.parametrize(
    ("changed", "collected", "source"),
    [
        (datetime(2026, 1, 15, 11, tzinfo=UTC), datetime(2026, 1, 15, 11, tzinfo=UTC), "file modification times"),
        (
            datetime(2026, 5, 2, tzinfo=UTC),
            datetime(2026, 1, 15, 9, 30, tzinfo=UTC),
            "newest line, its year by file modification times",
        ),
        (
            datetime(2027, 1, 2, tzinfo=UTC),
            datetime(2026, 1, 15, 9, 30, tzinfo=UTC),
            "newest line, its year by file modification times",
        ),
    ],
)
def test_a_bundle_that_was_copied_later_was_collected_when_its_last_line_was_written(
    tmp_path: Path, changed: datetime, collected: datetime, source: str
) -> None:
    logs = _logs(tmp_path, {"a.log": b"Jan 15 09:00:00 h x: y\n", "b.log": b"Jan 15 09:30:00 h x: y\n"})
    clock = read_clock(name="b.tar.gz", logs=logs, modified=changed)
    assert (clock.collected_at, clock.collected_from) == (collected, source)
    assert clock.gaps, "the year is a guess, and told"


@pytest.mark.parametrize(
    ("files", "collected", "source"),
    [
        ({"journal.log": b"Jan 15 10:06:00 h x: y\n"}, (10, 6), "newest line"),
        ({"journal.log": b"Jan 15 09:59:00 h x: y\n"}, (10, 0), "newest dated line"),
        ({"of-last-year.log": b"Jan 15 20:00:00 h x: y\n"}, (10, 0), "newest dated line"),
        ({"newest-first.csv": b'"E0115 10:07:00.000000 1 x.go:1] y"\n' + b'"x"\n' * 20000}, (10, 7), "newest line"),
    ],
)
def test_a_bundle_was_collected_no_earlier_than_a_line_without_a_year_was_written(
    tmp_path: Path, files: dict[str, bytes], collected: tuple[int, int], source: str
) -> None:
    logs = _logs(tmp_path, {"a.log": b"2026-01-15T10:00:00Z y\n", **files})
    clock = read_clock(name="b.tar.gz", logs=logs, modified=None)
    assert clock.collected_at == datetime(2026, 1, 15, *collected, tzinfo=UTC)
    assert clock.collected_from == source


def test_a_line_from_the_year_9999_does_not_date_the_bundle(tmp_path: Path) -> None:
    logs = _logs(tmp_path, {"a.log": b"9999-12-31T23:59:59Z x\n2026-01-15T10:00:00Z y\n"})
    assert read_clock(name="b.tar.gz", logs=logs, modified=None).collected_at == datetime(2026, 1, 15, 10, tzinfo=UTC)


def test_unknown_times_stay_unknown_in_bulk() -> None:
    clocks = np.array([StampKind.NONE, StampKind.ABSOLUTE], dtype=np.int8)
    assert a_clock().resolve(clocks, np.array([5, 6], dtype=np.int64)).tolist() == [UNKNOWN, 6]


@pytest.mark.parametrize(
    "line",
    [
        b"9999-12-31T23:59:59.5-12:00 host x: y",
        b"0001-01-01T00:00:00+12:00 host x: y",
    ],
)
def test_a_time_beyond_all_years_is_unknown(line: bytes) -> None:
    assert stamp_of(line)[0] is StampKind.ABSOLUTE
    assert time_on(line) is None


@given(st.lists(st.datetimes(timezones=st.just(UTC)) | st.none(), max_size=20))
def test_many_times_are_told_as_each_alone(moments: list[datetime | None]) -> None:
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    micros = [UNKNOWN if each is None else (each - epoch) // timedelta(microseconds=1) for each in moments]
    assert times_of(np.array(micros, dtype=np.int64)) == [time_of(each) for each in micros] == moments


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("eks_i-0_9999-12-31_2359-UTC_0.7.9", "x.log", b"Jan 15 10:25:03 h x: y\n"),
        ("eks_i-0_0001-01-01_0000-UTC_0.7.9", "x.log", b"Jan 15 10:25:03 h x: y\n"),
        ("bundle", "system/procstat.txt", b"btime 99999999999\n"),
        ("bundle", "system/journalctl-boots", b" 0 0123456789abcdef0123456789abcdef Mon 2026-13-45 99:99:99 UTC\n"),
        (
            "eks_i-0_2026-01-15_1030-UTC_0.7.9",
            "system/last_reboot.txt",
            b"reboot   system boot  5.10 Thu Feb 30 10:00\n",
        ),
    ],
)
def test_an_impossible_time_in_a_bundle_is_no_time(tmp_path: Path, name: str, file: str, text: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(text)
    clock = read_clock(name=name, logs={file: path}, modified=None)
    assert clock.booted_at is None
    assert (clock.collected_at is None) == ("2026" not in name)
    clock.resolve(np.array([StampKind.YEARLESS], dtype=np.int8), np.array([40 * 86_400_000_000], dtype=np.int64))


def test_a_kernel_log_that_begins_in_the_year_one_dates_no_boot(tmp_path: Path) -> None:
    seconds, human = tmp_path / "seconds", tmp_path / "human"
    seconds.write_bytes(b"[999999999.000000] x\n")
    human.write_bytes(b"[Mon Jan  1 00:00:00 0001] x\n")
    logs = {"kernel/dmesg.current": seconds, "kernel/dmesg.human.current": human}
    assert read_clock(name="bundle", logs=logs, modified=None).booted_at is None


@given(
    st.sampled_from(
        [
            b"Jan 15 10:25:03.123456 h kernel: x",
            b'Jan 15 10:25:03 h kubelet[34]: E0115 10:25:02.999001   34 x.go:1] "x"',
            b"2026-01-15T10:25:03.123456789Z stderr F x",
            b"2026-01-15T10:25:03-05:30 host x: y",
            b'{"ts":1768472703123.456,"msg":"x"}',
            b"[Thu Jan 15 10:25:03 2026] x",
            b"[   12.345678] x",
            b'"1/15/2026 10:25:03 PM","x"',
        ]
    ),
    st.randoms(use_true_random=False),
)
def test_no_digits_are_a_time_that_cannot_be_told(line: bytes, chance: random.Random) -> None:
    other = re.sub(rb"[0-9]+", lambda found: b"%0*d" % (len(found[0]), chance.randrange(10 ** len(found[0]))), line)
    time_on(other)
