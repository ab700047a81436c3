"""`/incidents/{id}/progress?after=N`: the steps behind N, as a fragment, as JSON, or as events while they happen."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any, Final

import anyio.to_thread
from starlette.responses import JSONResponse, Response, StreamingResponse

from affidavit.entrypoints.console.door import Visit
from affidavit.entrypoints.console.pages.incident import steps_of
from affidavit.incidents.reading.journal import JournalStep

LOOK_SECONDS: Final = 1.0
# A stream that nobody closes ends by itself; the browser opens it again where it was.
STREAM_SECONDS: Final = 300.0


def show_progress(visit: Visit) -> Response:
    after = _number(visit.asked("after") or visit.request.headers.get("last-event-id", ""))
    kinds = visit.request.headers.get("accept", "")
    if "text/event-stream" in kinds and visit.desk.is_long_lived:
        visit.desk.incident(visit.named("id"))
        return StreamingResponse(_events(visit, after), media_type="text/event-stream")
    found = visit.desk.incident(visit.named("id"))
    steps = steps_of(visit, found, after=after)
    if "application/json" in kinds:
        return JSONResponse(_told(visit, after))
    answer = visit.part(
        "progress.html",
        incident_id=found.state.incident_id,
        status=found.state.status,
        updated_at=found.state.updated_at,
        tokens=found.state.spent.total_tokens,
        steps=steps,
        after=after + len(steps),
        is_live=found.state.status.is_open,
        can_stream=visit.desk.is_long_lived,
    )
    if not found.state.status.is_open:
        answer.headers["HX-Refresh"] = "true"
    return answer


def _told(visit: Visit, after: int) -> dict[str, Any]:
    found = visit.desk.incident(visit.named("id"))
    steps = steps_of(visit, found, after=after)
    return {
        "incident_id": found.state.incident_id,
        "status": found.state.status.value,
        "updated_at": found.state.updated_at.isoformat(),
        "tokens": found.state.spent.total_tokens,
        "steps": [_step(step, visit) for step in steps],
        "after": after + len(steps),
        "is_over": not found.state.status.is_open,
    }


def _step(step: JournalStep, visit: Visit) -> dict[str, Any]:
    return {
        "number": step.number,
        "tool": step.tool,
        "arguments": visit.desk.hide(json.dumps(dict(step.arguments))),
        "bytes": step.size,
        "at": step.at.isoformat() if step.at is not None else None,
        "sha256": step.sha256,
        "problem": visit.desk.hide(step.problem),
    }


async def _events(visit: Visit, after: int) -> AsyncGenerator[bytes]:
    told = ""
    for _ in range(int(STREAM_SECONDS / LOOK_SECONDS)):
        now = await anyio.to_thread.run_sync(_told, visit, after)
        mark = f"{now['status']} {now['after']} {now['tokens']}"
        if mark != told:
            yield f"id: {now['after']}\nevent: progress\ndata: {json.dumps(now)}\n\n".encode()
        told, after = mark, now["after"]
        if now["is_over"]:
            return
        await asyncio.sleep(LOOK_SECONDS)


def _number(text: str) -> int:
    return int(text) if text.isdigit() and len(text) < 7 else 0
