"""Follows what changes: as events where the server can stream, else as parts that a page asks for again.

One address serves all three: `Accept: text/event-stream` streams, `application/json` tells once, and a page gets the
part to put in. When it is over, the part makes the page load itself again.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response, StreamingResponse

from affidavit.entrypoints.console.guarded_page_requests import Visit

LOOK_SECONDS: Final = 1.0
# A stream that nobody closes ends by itself; the browser opens it again where it was.
STREAM_SECONDS: Final = 300.0


@dataclass(frozen=True, kw_only=True)
class LiveLook:
    """`told` is for programs; another `mark` than before is news; the next look begins behind `after`.

    `since` is what counted when something was asked for that has not begun; None when nothing is waited for.
    """

    told: Mapping[str, Any]
    mark: str
    after: int
    is_over: bool
    since: int | None = None


Look = Callable[[int], LiveLook]


def followed(visit: Visit, look: Look, part: Callable[[int], Response]) -> Response:
    """`look` and `part` are given the cursor behind which there may be news. Raises what `look` raises."""
    after, kinds = _cursor(visit), visit.request.headers.get("accept", "")
    seen = look(after)
    if "text/event-stream" in kinds and visit.desk.is_long_lived:
        return StreamingResponse(_events(look, after), media_type="text/event-stream")
    if "application/json" in kinds:
        return JSONResponse(dict(seen.told))
    answer = part(after)
    # What was waited for has begun: the rest of the page is from before.
    has_begun = bool(visit.asked("since")) and seen.since is None
    if seen.is_over or has_begun:
        answer.headers["HX-Refresh"] = "true"
    return answer


def is_awaited(visit: Visit, count: int) -> bool:
    """Whether something was asked for when this counted the same: it has not begun, but will."""
    return visit.asked("since") == str(count)


def address_of(path: str, after: int, since: int | None) -> str:
    """Where a page asks on: behind `after`, still knowing what is waited for."""
    return f"{path}?after={after}" if since is None else f"{path}?after={after}&since={since}"


async def _events(look: Look, after: int) -> AsyncGenerator[bytes]:
    told = ""
    for _ in range(int(STREAM_SECONDS / LOOK_SECONDS)):
        now = await anyio.to_thread.run_sync(look, after)
        if now.mark != told:
            yield f"id: {now.after}\nevent: progress\ndata: {json.dumps(now.told)}\n\n".encode()
        told, after = now.mark, now.after
        if now.is_over:
            return
        await asyncio.sleep(LOOK_SECONDS)


def _cursor(visit: Visit) -> int:
    """A browser that opens a stream again says how far it came; its address still has the first cursor."""
    text = visit.request.headers.get("last-event-id") or visit.asked("after")
    return int(text) if text.isdigit() and len(text) < 7 else 0
