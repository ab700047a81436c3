"""Lines inside JSON, syslog of RFC 5424, kubectl's prefix and colours come out as their daemon wrote them."""

import json

import pytest

from affidavit.bundle.log_envelopes import any_wrapped, has_colours, is_wrapped, unwrapped

KLOG = 'E0115 10:25:03.123456    3478 kubelet.go:2466] "Skipping pod synchronization" err="PLEG is not healthy"'
OOM = "Out of memory: Killed process 2211 (java) total-vm:1kB"
MICROS = 1768472703551000  # 2026-01-15T10:25:03.551Z


def _journal(**fields: object) -> str:
    record = {"__REALTIME_TIMESTAMP": str(MICROS), "_HOSTNAME": "node", "SYSLOG_IDENTIFIER": "kubelet", "MESSAGE": KLOG}
    return json.dumps(record | {"_PID": "3478"} | fields)


TAGGED = f"2026-01-15T10:25:03.551000+00:00 node kubelet[3478]: {KLOG}"


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        (_journal(), TAGGED),
        (_journal(MESSAGE=list(KLOG.encode())), TAGGED),
        ("data: " + _journal(), TAGGED),
        ("\x1e" + _journal(), TAGGED),
        (_journal(SYSLOG_IDENTIFIER=None, _SYSTEMD_UNIT="kubelet.service"), TAGGED),
        (_journal(MESSAGE="two\nlines"), "2026-01-15T10:25:03.551000+00:00 node kubelet[3478]: two lines"),
        (
            json.dumps({"log": KLOG + "\n", "stream": "stderr", "time": "2026-01-15T10:25:03.123456789Z"}),
            f"2026-01-15T10:25:03.123456789Z stderr F {KLOG}",
        ),
        (
            json.dumps({"timestamp": MICROS // 1000, "message": KLOG, "logStreamName": "node"}),
            f"2026-01-15T10:25:03.551000+00:00 stdout F {KLOG}",
        ),
        (
            f'<27>1 2026-01-15T10:25:03.551Z node kubelet 3478 ID47 [a x="1 \\] \\" 2"][b] {KLOG}',
            f"2026-01-15T10:25:03.551Z node kubelet[3478]: {KLOG}",
        ),
        (f"<4>1 2026-01-15T10:25:03Z node kernel - - - \ufeff{OOM}", f"2026-01-15T10:25:03Z node kernel: {OOM}"),
        (f"142 <4>1 2026-01-15T10:25:03Z node kernel - - - {OOM}", f"2026-01-15T10:25:03Z node kernel: {OOM}"),
        (f"<4>Jan 15 10:25:03 node kernel: {OOM}", f"Jan 15 10:25:03 node kernel: {OOM}"),
        (
            "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System><Provider Name='kubelet'/>"
            "<TimeCreated SystemTime='2026-01-15T10:25:03.1234567Z'/></System><EventData><Data>"
            f"{KLOG.replace(chr(34), '&quot;')}</Data></EventData></Event>",
            f"2026-01-15T10:25:03.1234567Z - kubelet: {KLOG}",
        ),
        (f"[pod/web-7d9/app] {KLOG}", KLOG),
        (f"[pod/web-7d9/app] 2026-01-15T10:25:03.12Z {KLOG}", f"2026-01-15T10:25:03.12Z stdout F {KLOG}"),
        (f"1768472703.551000 node kubelet[3478]: {KLOG}", TAGGED),
        (f"\x1b[0;1;31mJan 15 10:25:03 node kernel: {OOM}\x1b[0m", f"Jan 15 10:25:03 node kernel: {OOM}"),
        (f"\ufeffJan 15 10:25:03 node kernel: {OOM}", f"Jan 15 10:25:03 node kernel: {OOM}"),
    ],
)
def test_the_line_inside_comes_out(line: str, inner: str) -> None:
    assert unwrapped(line.encode()).decode() == inner
    assert is_wrapped(line.encode())


@pytest.mark.parametrize(
    "line",
    [
        KLOG,
        f"Jan 15 10:25:03 node kernel: {OOM}",
        f"[ 8123.551000] {OOM}",
        f"<4>[ 8123.551000] {OOM}",
        f"2026-01-15T10:25:03.123456789Z stderr F {KLOG}",
        '{"level":"error","ts":"2026-01-15T10:25:03.020Z","caller":"ipamd/ipamd.go:1153","msg":"Failed"}',
        '{"timestamp":1768472703551,"level":"error","message":"an application\'s own record"}',
        '{"log": 1, "MESSAGE": {}}',
        '{"MESSAGE": "cut off, so that it is no JSON',
        '{"MESSAGE":"no time"}',
        '{"MESSAGE":"a time that is none","__REALTIME_TIMESTAMP":"99999999999999999999999999"}',
        "[pod/] empty",
        "",
    ],
)
def test_a_line_with_nothing_around_it_stays(line: str) -> None:
    assert unwrapped(line.encode()) == line.encode()


@pytest.mark.parametrize(
    "hostile",
    [
        b"[pod/x] " * 200_000,
        b'{"MESSAGE":' * 100_000,
        b"<1>1 2026-01-15T10:25:03Z h p 1 - [a" + b' b="\\"' * 200_000,
        b"<1>1 2026-01-15T10:25:03Z h p 1 - " + b"[a]" * 300_000,
        b"\x1b[" + b"1;" * 500_000,
        b"<Event>" + b"<Provider Name='kubelet'" * 100_000,
        b'{"log":"' + b"\\n" * 500_000 + b'","time":"x"}',
    ],
)
def test_a_hostile_line_neither_raises_nor_grows(hostile: bytes) -> None:
    assert len(unwrapped(hostile)) <= len(hostile)


def test_a_block_is_wrapped_when_its_first_or_last_lines_are() -> None:
    plain = b"Jan 15 10:25:03 node kernel: all is well\n" * 50
    for block in (plain + _journal().encode() + b"\n", _journal().encode() + b"\n" + plain):
        assert any_wrapped(block, len(block))
    assert not any_wrapped(plain, len(plain))
    assert not any_wrapped(b"", 0)
    assert has_colours(plain + b"\x1b[1mx\n" + plain, 2 * len(plain))
    assert not has_colours(plain + b"\x1b", len(plain)), "what is behind the block is not looked at"
