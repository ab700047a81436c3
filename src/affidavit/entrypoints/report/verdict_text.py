"""Writes the verdict as lines of text: what, since when, why, and what to do first."""

from collections.abc import Iterator

from affidavit.entrypoints.report.content import moment
from affidavit.evidence.node_verdict import NodeVerdict, RootCause, Unexplained

_IDS_SHOWN = 4
_CANDIDATES_SHOWN = 3


def verdict_lines(verdict: NodeVerdict) -> list[str]:
    """Three lines per cause, or what is unexplained and where to look. The text is not yet escaped for a terminal."""
    lines = [line for cause in verdict.root_causes for line in cause_lines(cause)]
    if not lines:
        lines = [verdict.summary]
    for entry in verdict.unexplained:
        lines.extend(unexplained_lines(entry))
    lines.extend(
        f"Less likely: {other.cause} ({_ids(other.finding_ids)}): {other.why_less_likely}."
        for other in verdict.alternatives
    )
    return lines


def cause_lines(cause: RootCause) -> Iterator[str]:
    on = f": {cause.on}" if cause.on else ""
    yield f"{cause.cause}{on} · {_when(cause)}"
    explained = f", explains {_ids(cause.explains)}" if cause.explains else ", explains nothing else seen"
    yield f"Why: {_ids(cause.evidence)}{explained} ({cause.confidence.value} confidence)"
    if cause.first_step:
        yield f"First: {cause.first_step}"


def unexplained_lines(entry: Unexplained) -> Iterator[str]:
    unknown = ", cause unknown" if entry.cause_unknown else ", stands alone"
    yield f"Unexplained: {entry.what} ({_ids(entry.finding_ids)}){unknown}"
    if entry.could_be:
        yield f"Could be: {'; '.join(each.cause for each in entry.could_be[:_CANDIDATES_SHOWN])}"
    if entry.absent:
        yield f"Missing from the bundle and worth a look: {', '.join(entry.absent)}"


def _when(cause: RootCause) -> str:
    if cause.since is None:
        return "true at the collection, start unknown"
    if cause.still_open:
        return f"since {moment(cause.since)} UTC"
    return f"{moment(cause.since)} to {moment(cause.until)} UTC, over"


def _ids(ids: tuple[str, ...]) -> str:
    more = f" and {len(ids) - _IDS_SHOWN} more" if len(ids) > _IDS_SHOWN else ""
    return ", ".join(ids[:_IDS_SHOWN]) + more
