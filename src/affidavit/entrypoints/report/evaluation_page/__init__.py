"""An evaluation as one HTML file: heat map, precision and recall, latencies, trend. No network, no library."""

from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter

from affidavit.entrypoints.report.page.safe_data import encoded
from affidavit.entrypoints.report.page_frame import load_page
from affidavit.evaluation.history import EvaluationRun
from affidavit.evaluation.run_result import EvaluationResult

_ADAPTER = TypeAdapter(EvaluationResult)
_PAST = TypeAdapter(list[EvaluationRun])


def render_evaluation(
    result: EvaluationResult, before: EvaluationResult | None, past: Sequence[EvaluationRun] = ()
) -> str:
    """`past` are the runs of a history, this one the last; one alone has no trend."""
    data = {
        "now": _data(result),
        "before": _data(before) if before is not None else None,
        "past": _PAST.dump_python(list(past), mode="json"),
        "passes": result.passes,
    }
    return load_page("evaluation_page", "evaluation").page(title="Affidavit evaluation", data=encoded(data))


def _data(result: EvaluationResult) -> Any:
    return _ADAPTER.dump_python(result, mode="json")
