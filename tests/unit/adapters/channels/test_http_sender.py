"""What a channel's other side may do, and what becomes of it: a real server on this machine does it."""

import threading
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from tests.support.peers.http_peer import Answer, a_peer, self_signed

from affidavit.adapters.channels.allowed_destinations import Egress
from affidavit.adapters.channels.http_sender import Sender, pause_of
from affidavit.errors import UpstreamFailed
from affidavit.ports.notifier import AskedToWait

HERE = Egress(hosts=frozenset(), private_hosts=frozenset({"127.0.0.1"}))
SECRET = "/services/T0/B0/sEcReT"


def a_sender(deadline: float = 5.0) -> Sender:
    return Sender(egress=HERE, deadline=deadline)


def test_a_body_arrives_as_json_and_the_answer_comes_back() -> None:
    with a_peer(Answer(body={"ok": True})) as peer:
        reply = a_sender().post(f"{peer.url}{SECRET}", {"text": "é"})
    assert reply.json() == {"ok": True}
    assert (peer.sent[0].method, peer.sent[0].path, peer.sent[0].json) == ("POST", SECRET, {"text": "é"})
    assert peer.sent[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("headers", "seconds"), [({"Retry-After": "17"}, 17.0), ({}, 60.0), ({"Retry-After": "soon"}, 60.0)]
)
def test_a_channel_that_says_slow_down_says_for_how_long(headers: dict[str, str], seconds: float) -> None:
    with a_peer(Answer(status=429, headers=headers)) as peer, pytest.raises(AskedToWait) as pause:
        a_sender().post(peer.url, {})
    assert pause.value.seconds == seconds


def in_a_minute() -> str:
    return str(int(time.time()) + 70)


@pytest.mark.parametrize(
    ("answer", "least", "most"),
    [
        (Answer(status=429, headers={"ratelimit-reset": "4"}), 4, 4),
        (Answer(status=403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}), 1, 1),
        (Answer(status=403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}), 60, 60),
        (Answer(status=403, body={"message": "You have exceeded a secondary rate limit."}), 60, 60),
        (Answer(status=503, headers={"Retry-After": "9"}), 9, 9),
    ],
    ids=["PagerDuty", "an hour that is over", "an hour without end", "GitHub in words", "an outage"],
)
def test_a_limit_is_told_in_each_channel_s_own_way_and_loses_nothing(answer: Answer, least: int, most: int) -> None:
    with a_peer(answer) as peer, pytest.raises(AskedToWait) as pause:
        a_sender().post(peer.url, {})
    assert least <= pause.value.seconds <= most


def test_the_end_of_githubs_hour_is_waited_for() -> None:
    answer = Answer(status=403, headers={"x-ratelimit-remaining": "0", "x-ratelimit-reset": in_a_minute()})
    with a_peer(answer) as peer, pytest.raises(AskedToWait) as pause:
        a_sender().post(peer.url, {})
    assert 20 <= pause.value.seconds <= 70


def test_a_refusal_with_quota_left_is_no_request_to_wait() -> None:
    answer = Answer(status=403, headers={"x-ratelimit-remaining": "4999"})
    with a_peer(answer) as peer, pytest.raises(UpstreamFailed, match="403"):
        a_sender().post(peer.url, {})


def test_a_pause_may_be_given_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 80 < pause_of(later) <= 90


@pytest.mark.parametrize(
    ("status", "is_retryable"), [(500, True), (502, True), (400, False), (401, False), (404, False), (413, False)]
)
def test_a_refusal_names_host_and_status_and_never_the_secret_in_the_address(status: int, is_retryable: bool) -> None:
    with a_peer(Answer(status=status, body=b"no")) as peer, pytest.raises(UpstreamFailed) as failure:
        a_sender().post(f"{peer.url}{SECRET}", {})
    assert str(status) in str(failure.value)
    assert "127.0.0.1" in str(failure.value)
    assert "sEcReT" not in f"{failure.value} {failure.value.hint}"
    assert failure.value.is_retryable is is_retryable
    assert failure.value.hint


def test_a_redirect_is_not_followed() -> None:
    with a_peer() as elsewhere, a_peer(Answer(status=307, headers={"Location": elsewhere.url})) as peer:
        with pytest.raises(UpstreamFailed) as failure:
            a_sender().post(peer.url, {})
        assert "redirects are not followed" in failure.value.hint
        assert elsewhere.sent == []


def test_a_peer_that_hangs_costs_no_more_than_the_deadline() -> None:
    started = time.monotonic()
    with a_peer(Answer(hang=True)) as peer, pytest.raises(UpstreamFailed) as failure:
        a_sender(deadline=0.4).post(peer.url, {})
    assert failure.value.is_retryable
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "answer",
    [Answer(body=b"x" * 1_000, drip=0.05), Answer(body=b"ok" * 500, cut_after=10)],
    ids=["answers byte by byte", "breaks off"],
)
def test_an_answer_that_does_not_end_is_cut_at_the_deadline_and_its_status_counts(answer: Answer) -> None:
    started = time.monotonic()
    with a_peer(answer) as peer:
        reply = a_sender(deadline=0.4).post(peer.url, {})
    assert (reply.status, reply.json()) == (200, {})
    assert time.monotonic() - started < 5


def test_nothing_of_a_request_is_left_behind() -> None:
    before = threading.active_count()
    with a_peer() as peer:
        for _ in range(5):
            a_sender(deadline=30).post(peer.url, {})
    assert threading.active_count() <= before + 1


def test_a_certificate_that_nobody_vouches_for_is_refused(tmp_path: Path) -> None:
    with a_peer(certificate=self_signed(tmp_path)) as peer, pytest.raises(UpstreamFailed, match="certificate"):
        a_sender().post(peer.url, {"text": "secret"})
    assert peer.sent == []


def test_a_certificate_of_a_private_authority_is_taken_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with a_peer(certificate=(certificate, key)) as peer:
        assert a_sender().post(peer.url, {}).status == 200


def test_a_peer_without_tls_is_an_outage_and_no_crash() -> None:
    with a_peer() as peer, pytest.raises(UpstreamFailed):
        a_sender(deadline=2).post(peer.url.replace("http:", "https:"), {})


def test_a_closed_port_is_an_outage() -> None:
    with a_peer() as peer:
        url = peer.url
    with pytest.raises(UpstreamFailed) as failure:
        a_sender().post(url, {})
    assert failure.value.is_retryable


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_peer() as proxy, a_peer() as peer:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        a_sender().post(peer.url, {})
        assert proxy.sent == []
        assert len(peer.sent) == 1
