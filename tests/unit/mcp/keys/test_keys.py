"""Which keys open the HTTP server while the stored one changes."""

import asyncio

import pytest

from affidavit.entrypoints.http.auth import LOOKED_UP_AGAIN, StoredKeyVerifier
from affidavit.errors import InputRefused, UpstreamFailed

FIRST, SECOND = "the-first-key-0123456789", "the-second-key-0123456789"


class Store:
    def __init__(self) -> None:
        self.key, self.now, self.asked, self.is_down = FIRST, 0.0, 0, False

    def fetch(self) -> str:
        self.asked += 1
        if self.is_down:
            raise UpstreamFailed("SSM does not answer")
        return self.key


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def verifier(store: Store) -> StoredKeyVerifier:
    return StoredKeyVerifier(store.fetch, seconds=lambda: store.now)


def opens(verifier: StoredKeyVerifier, key: str) -> bool:
    return asyncio.run(verifier.verify_token(key)) is not None


def test_a_rotated_key_opens_after_five_minutes_and_the_old_one_no_longer_does(
    store: Store, verifier: StoredKeyVerifier
) -> None:
    store.key = SECOND
    store.now = LOOKED_UP_AGAIN - 1
    assert opens(verifier, FIRST) and not opens(verifier, SECOND)
    store.now = LOOKED_UP_AGAIN
    assert opens(verifier, SECOND) and not opens(verifier, FIRST)
    assert store.asked == 2


def test_while_the_store_is_down_the_last_key_opens_and_it_is_not_asked_by_every_request(
    store: Store, verifier: StoredKeyVerifier
) -> None:
    store.is_down, store.now = True, LOOKED_UP_AGAIN
    assert all(opens(verifier, FIRST) for _ in range(5))
    assert store.asked == 2
    store.is_down, store.key, store.now = False, SECOND, 2 * LOOKED_UP_AGAIN
    assert opens(verifier, SECOND) and not opens(verifier, FIRST)


def test_a_key_that_is_too_short_never_opens(store: Store, verifier: StoredKeyVerifier) -> None:
    store.key, store.now = "short", LOOKED_UP_AGAIN
    assert not opens(verifier, "short")
    with pytest.raises(InputRefused, match="too short"):
        StoredKeyVerifier(lambda: "")
