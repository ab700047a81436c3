"""Refuses requests that another site made the browser send, and hosts that are not ours."""

from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})


def is_known_host(request: Request, hosts: tuple[str, ...]) -> bool:
    """A name that somebody else's DNS points here must not open the console (DNS rebinding)."""
    given = request.headers.get("host", "")
    try:
        name = urlsplit(f"//{given}").hostname or ""
    except ValueError:
        return False
    return name in _LOOPBACK or given in hosts


def is_from_here(request: Request) -> bool:
    """Whether a request that changes something came from a page of this console.

    Browsers say so themselves (`Sec-Fetch-Site`); older ones send `Origin`. A request with neither is refused.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None and site != "same-origin":
        return False
    origin = request.headers.get("origin")
    if origin is None:
        return site == "same-origin"
    return origin == f"{request.url.scheme}://{request.headers.get('host', '')}"


def local_path(wanted: str) -> str:
    """A path of this console to go to after the login; anything else is its first page."""
    is_path = wanted.startswith("/") and not wanted.startswith(("//", "/\\"))
    is_clean = wanted.isprintable() and "\\" not in wanted and len(wanted) < 2000
    return wanted if is_path and is_clean and not wanted.startswith(("/login", "/logout")) else "/"
