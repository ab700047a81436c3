"""An evaluation as one HTML file: heat map, precision and recall, latencies, trend. No network, no library."""

from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

from pydantic import TypeAdapter

from affidavit.entrypoints.report.page.island import encoded
from affidavit.evaluation.history import PastRun
from affidavit.evaluation.result import EvaluationResult

_ADAPTER = TypeAdapter(EvaluationResult)
_PAST = TypeAdapter(list[PastRun])


def render_evaluation(result: EvaluationResult, before: EvaluationResult | None, past: Sequence[PastRun] = ()) -> str:
    """`past` are the runs of a history, this one the last; one alone has no trend."""
    data = {
        "now": _data(result),
        "before": _data(before) if before is not None else None,
        "past": _PAST.dump_python(list(past), mode="json"),
        "passes": result.passes,
    }
    template, style, script = (_file(name) for name in ("template.html", "evaluation.css", "evaluation.js"))
    return Template(template).substitute(style=style, script=script, data=encoded(data))


def _data(result: EvaluationResult) -> Any:
    return _ADAPTER.dump_python(result, mode="json")


def _file(name: str) -> str:
    return files("affidavit.entrypoints.report.evaluation_page").joinpath(name).read_text("utf-8")
