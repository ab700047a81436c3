"""Refuses requests that a page in a browser makes. Programs send no Origin and call this machine by its own name."""

import re

from affidavit.sandbox.access.request_head import RequestHead, RequestRefused

_OUR_NAME = re.compile(r"(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?", re.IGNORECASE)


def refuse_browsers(head: RequestHead) -> None:
    """Raises RequestRefused.

    A page of another site carries its Origin. One whose site's name was pointed at 127.0.0.1 (DNS rebinding) is of the
    same origin for the browser, but carries that name as Host.
    """
    if head.header("origin") or head.method == "OPTIONS":
        raise RequestRefused("AccessDenied", "the sandbox answers no page in a browser")
    if not _OUR_NAME.fullmatch(head.header("host")):
        raise RequestRefused("AccessDenied", "the sandbox is called by a name that is not its own")
