"""Where a notice may go."""

import socket
from typing import Any

import pytest

from affidavit.adapters.channels.allowed_destinations import Egress
from affidavit.errors import InputRefused, UpstreamFailed

NAMED = Egress(hosts=frozenset({"hooks.slack.com"}), private_hosts=frozenset({"alerts.internal"}))


@pytest.fixture
def addresses(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """What names resolve to."""
    known: dict[str, list[str]] = {}

    def look_up(host: str, port: int, **_: Any) -> list[Any]:
        if host not in known:
            raise socket.gaierror(-2, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in known[host]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return known


def test_a_named_host_is_connected_to_by_the_address_that_was_looked_at(addresses: dict[str, list[str]]) -> None:
    addresses["hooks.slack.com"] = ["3.94.12.7"]
    place = NAMED.admit("https://HOOKS.slack.com/services/T0/B0/secret?x=1")
    assert (place.host, place.port, place.address) == ("hooks.slack.com", 443, "3.94.12.7")
    assert place.target == "/services/T0/B0/secret?x=1"


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/x",
        "https://hooks.slack.com.evil.example/x",
        "https://hooks.slack.com@evil.example/x",
        "https://evil.example#hooks.slack.com",
        "https:///x",
        "file:///etc/passwd",
        "http://hooks.slack.com/x",
        "ftp://alerts.internal/x",
        "https://user:word@hooks.slack.com/x",
    ],
)
def test_what_no_setting_names_is_refused_before_anything_is_looked_up(url: str, addresses: dict[str, Any]) -> None:
    with pytest.raises(InputRefused) as refusal:
        NAMED.admit(url)
    assert refusal.value.hint


@pytest.mark.parametrize(
    "address",
    [
        "10.0.0.5",
        "172.16.0.1",
        "192.168.1.1",
        "127.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "::ffff:10.0.0.5",
        "64:ff9b::a9fe:a9fe",
        "2002:0a00:0005::1",
    ],
)
def test_a_public_name_with_a_private_address_is_refused(address: str, addresses: dict[str, list[str]]) -> None:
    addresses["hooks.slack.com"] = ["3.94.12.7", address]
    with pytest.raises(InputRefused, match="not a public one"):
        NAMED.admit("https://hooks.slack.com/x")


def test_a_host_that_is_named_as_private_may_be_private_and_speak_plain_http(addresses: dict[str, list[str]]) -> None:
    addresses["alerts.internal"] = ["10.0.0.5"]
    place = NAMED.admit("http://alerts.internal:8080/hook")
    assert (place.address, place.port, place.is_tls) == ("10.0.0.5", 8080, False)


def test_a_name_that_cannot_be_looked_up_is_tried_again_later(addresses: dict[str, list[str]]) -> None:
    with pytest.raises(UpstreamFailed) as failure:
        NAMED.admit("https://hooks.slack.com/x")
    assert failure.value.is_retryable
