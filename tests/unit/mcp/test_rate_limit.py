"""How many requests of one client pass."""

from affidavit.entrypoints.http import rate_limit
from affidavit.entrypoints.http.rate_limit import RequestRates


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_minutes_requests_pass_at_once_and_the_next_learns_when() -> None:
    seconds = Seconds()
    limits = RequestRates(60, seconds=seconds)
    assert [limits.wait_of("a") for _ in range(60)] == [0.0] * 60
    assert limits.wait_of("a") == 1.0
    seconds.now += 0.5
    assert limits.wait_of("a") == 0.5
    seconds.now += 0.5
    assert limits.wait_of("a") == 0.0
    assert limits.wait_of("a") > 0


def test_one_client_takes_nothing_from_another() -> None:
    limits = RequestRates(1, seconds=Seconds())
    assert limits.wait_of("a") == 0.0
    assert limits.wait_of("a") > 0
    assert limits.wait_of("b") == 0.0


def test_a_client_that_rested_for_an_hour_has_one_minute_of_requests() -> None:
    seconds = Seconds()
    limits = RequestRates(2, seconds=seconds)
    limits.wait_of("a")
    seconds.now += 3600
    assert [limits.wait_of("a") > 0 for _ in range(3)] == [False, False, True]


def test_the_clients_that_are_remembered_are_bounded() -> None:
    limits = RequestRates(1, seconds=Seconds())
    for number in range(rate_limit.MOST_CLIENTS + 10):
        limits.wait_of(str(number))
    assert len(limits._clients) == rate_limit.MOST_CLIENTS
