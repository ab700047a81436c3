"""Wrong keys in the log: that there were some, seldom, and never which."""

import logging

import pytest

from affidavit.entrypoints.http.refusal_log import QUIET_SECONDS, Refusals


def test_a_flood_is_a_line_a_minute_that_counts_it(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    refusals = Refusals(seconds=lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            refusals.note("10.0.0.9")
        assert [record.getMessage().split()[0] for record in caplog.records] == ["1"]
        now = QUIET_SECONDS
        refusals.note("10.0.0.8" + "x" * 1000)
    last = caplog.records[-1].getMessage()
    assert len(caplog.records) == 2
    assert last.startswith("1000 request(s)") and "10.0.0.8" in last and len(last) < 200


def test_an_address_with_control_characters_forges_no_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        Refusals().note("10.0.0.9\nINFO all is well\x1b[2J")
    assert caplog.records[-1].getMessage().isprintable()
