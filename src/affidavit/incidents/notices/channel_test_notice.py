"""A notice that says that it is a test. `affidavit notice test` and the console send it to try a channel."""

from datetime import datetime

from affidavit.ports.notice_record import Notice


def a_test_notice(now: datetime) -> Notice:
    return Notice(
        key=f"test#{int(now.timestamp())}",
        incident_id="test",
        about="affidavit",
        state="TEST",
        severity=None,
        title="[TEST] affidavit: a test notice",
        cause="This is a test of the channel: nothing happened.",
        is_diagnosed=False,
        attempts=0,
        resources=(),
        since=now,
        account="none",
        region="none",
        is_test=True,
    )
