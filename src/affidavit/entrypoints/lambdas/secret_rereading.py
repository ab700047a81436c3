"""Makes a function that stays warm read its secrets again now and then, so that a rotated one is noticed."""

import time
from collections.abc import Callable

OLDEST_SECONDS = 900.0


class Renewal:
    """`forget` drops what was built with the secrets; the next event builds it anew."""

    def __init__(self, forget: Callable[[], None]) -> None:
        self._forget, self._since = forget, time.monotonic()

    def __call__(self) -> None:
        if time.monotonic() - self._since > OLDEST_SECONDS:
            self._forget()
            self._since = time.monotonic()
