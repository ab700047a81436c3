"""`/incidents/{id}/progress?after=N`: the steps behind N, as they come."""

import json
from typing import Any

from starlette.responses import Response

from affidavit.entrypoints.console.guarded_page_requests import Visit
from affidavit.entrypoints.console.live_updates import LiveLook, followed
from affidavit.entrypoints.console.pages.incident import is_followed, live_part, since_of, steps_of
from affidavit.incidents.reading.investigation_journal import JournalStep


def show_progress(visit: Visit) -> Response:
    return followed(visit, lambda after: _look(visit, after), lambda after: _part(visit, after))


def _part(visit: Visit, after: int) -> Response:
    found = visit.desk.incident(visit.named("id"))
    steps = steps_of(visit, found, after=after)
    return visit.part("progress.html", steps=steps, live=live_part(visit, found, steps, after=after))


def _look(visit: Visit, after: int) -> LiveLook:
    found = visit.desk.incident(visit.named("id"))
    steps = steps_of(visit, found, after=after)
    status, tokens, behind = found.state.status.value, found.state.spent.total_tokens, after + len(steps)
    is_over = not is_followed(visit, found)
    told = {
        "incident_id": found.state.incident_id,
        "status": status,
        "updated_at": found.state.updated_at.isoformat(),
        "tokens": tokens,
        "steps": [_step(step, visit) for step in steps],
        "after": behind,
        "is_over": is_over,
    }
    since = since_of(visit, found)
    return LiveLook(told=told, mark=f"{status} {behind} {tokens}", after=behind, is_over=is_over, since=since)


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
