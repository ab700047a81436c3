"""Reads ipamd's counters. The file is called metrics.json but is in Prometheus' text form."""

from collections.abc import Iterator, Sequence

from affidavit.checks.computation_results import Found, Shown
from affidavit.checks.number_parsing import decimal
from affidavit.checks.numbered_lines import Document


def share(documents: Sequence[Document], *, part: str, of: str, from_percent: float) -> Iterator[Found]:
    for document in documents:
        metrics = _metrics(document)
        line, count = metrics.get(part, (0, 0.0))
        limit = metrics.get(of, (0, 0.0))[1]
        if line and limit > 0 and 100 * count / limit >= from_percent:
            percent = round(100 * count / limit)
            yield Shown(document.path, line, f"{part} is {percent} % of {of} ({count:g} of {limit:g})")


def counter(documents: Sequence[Document], *, metric: str, at_least: float) -> Iterator[Found]:
    for document in documents:
        line, count = _metrics(document).get(metric, (0, 0.0))
        if line and count >= at_least:
            yield Shown(document.path, line, f"{metric} counts {count:g} since ipamd started")


def _metrics(document: Document) -> dict[str, tuple[int, float]]:
    """Metrics without labels: name → line and value."""
    metrics: dict[str, tuple[int, float]] = {}
    for number, text in document.lines():
        words = text.split()
        value = decimal(words[1]) if len(words) == 2 else None
        if value is not None:
            metrics.setdefault(words[0], (number, value))
    return metrics
