"""`/fleet`: named questions over many nodes with their SQL; answers as a table and a plot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.responses import Response

from affidavit.bootstrap import OBJECTS
from affidavit.entrypoints.console.guarded_page_requests import Section, Visit
from affidavit.errors import AffidavitError
from affidavit.fleet.answer import FleetAnswer
from affidavit.fleet.local_query import ask_folder
from affidavit.fleet.questions import QUESTIONS, question
from affidavit.fleet.sql_with_values import Inquiry

_BARS: Final = 20


# Where a value of a column leads.
_LINKS: Final = ("instance_id", "example_finding")


@dataclass(frozen=True, kw_only=True)
class PlotBar:
    """`width` is a share of the longest, in hundredths."""

    label: str
    value: float
    width: int


@dataclass(frozen=True, kw_only=True)
class FleetPlot:
    """`measure` is the column that the bars show; without numbers there are none."""

    measure: str = ""
    bars: tuple[PlotBar, ...] = ()


def show_fleet(visit: Visit) -> Response:
    asked = question(visit.asked("ask")) or QUESTIONS[0]
    inquiry = asked.asked()
    answer, problem = _answer(visit, inquiry)
    plot = _plot(answer) if answer is not None else FleetPlot()
    return visit.page(
        "fleet.html",
        title="Fleet",
        section=Section.FLEET,
        questions=QUESTIONS,
        asked=asked,
        sql=inquiry.sql,
        answer=answer,
        problem=problem,
        links=_LINKS,
        bars=plot.bars,
        measure=plot.measure,
    )


def _answer(visit: Visit, inquiry: Inquiry) -> tuple[FleetAnswer | None, AffidavitError | None]:
    settings = visit.desk.app.settings
    if not settings.is_local:
        hint = "run `affidavit fleet ask`; in AWS it asks Athena, which costs by the byte"
        return None, AffidavitError("fleet questions are asked on the command line here", hint=hint)
    try:
        return ask_folder(settings.data_dir / OBJECTS, inquiry), None
    except AffidavitError as error:
        return None, error


def _plot(answer: FleetAnswer) -> FleetPlot:
    """The first column of numbers, by the texts before it."""
    at = next((at for at in range(len(answer.columns)) if _is_numbers(answer.rows, at)), None)
    if at is None:
        return FleetPlot()
    rows = [(" ".join(str(part) for part in row[:at] if part is not None), float(row[at] or 0)) for row in answer.rows]
    most = max((value for _, value in rows), default=0.0)
    shown = rows[:_BARS] if most else []
    return FleetPlot(
        measure=answer.columns[at],
        bars=tuple(PlotBar(label=name, value=value, width=round(100 * value / most)) for name, value in shown),
    )


def _is_numbers(rows: Sequence[Sequence[Any]], at: int) -> bool:
    return bool(rows) and all(isinstance(row[at], int | float) for row in rows)
