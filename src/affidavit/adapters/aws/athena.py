"""Asks the fleet's tables through Athena."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translated
from affidavit.errors import InputRefused, Throttled, UpstreamFailed
from affidavit.fleet.answer import FleetAnswer, check_coverage
from affidavit.fleet.sql_check import check
from affidavit.fleet.sql_with_values import FleetScope, Inquiry

MOST_SECONDS: Final = 300
POLL_SECONDS: Final = 0.5
_OVER: Final = ("FAILED", "CANCELLED")
# Everything arrives as text; what a column holds is said beside it.
_KINDS: Final[Mapping[str, Callable[[str], Any]]] = {
    "bigint": int,
    "integer": int,
    "double": float,
    "boolean": lambda text: text == "true",
    "timestamp": datetime.fromisoformat,
    "date": date.fromisoformat,
}


class AthenaFleet:
    """`workgroup` says where results go, and how much a question may read."""

    def __init__(
        self, clients: AwsClients, *, workgroup: str, database: str, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._clients, self._workgroup, self._database = clients, workgroup, database
        self._pause = pause

    def ask(self, inquiry: Inquiry) -> FleetAnswer:
        """Raises NotFound when the clusters in its scope have no index. Without a scope nobody counts them."""
        check(inquiry)
        indexes = self._counted(inquiry.scope) if inquiry.scope is not None else None
        answer = self._asked(inquiry)
        return FleetAnswer(columns=answer.columns, rows=answer.rows, indexes=indexes)

    def _counted(self, scope: FleetScope) -> int:
        if not scope.clusters:
            raise InputRefused("Athena must be told which clusters to ask", hint="name them: --cluster NAME")
        ((indexes,),) = self._asked(scope.counted()).rows
        check_coverage(int(indexes), scope, "for Athena")
        return int(indexes)

    def _asked(self, inquiry: Inquiry) -> FleetAnswer:
        with translated("the question to Athena"):
            started = self._athena.start_query_execution(
                QueryString=inquiry.sql,
                WorkGroup=self._workgroup,
                QueryExecutionContext={"Database": self._database},
                # Athena takes no empty list.
                **({"ExecutionParameters": [_literal(value) for value in inquiry.values]} if inquiry.values else {}),
            )
        self._wait(started["QueryExecutionId"])
        return self._answer(started["QueryExecutionId"])

    @property
    def _athena(self) -> Any:
        return self._clients.client("athena")

    def _wait(self, query: str) -> None:
        for _ in range(int(MOST_SECONDS / POLL_SECONDS)):
            if self._is_answered(query):
                return
            self._pause(POLL_SECONDS)
        with translated("the question to Athena"):  # it would go on reading, and cost
            self._athena.stop_query_execution(QueryExecutionId=query)
        raise UpstreamFailed(
            "Athena did not answer in five minutes, and was stopped",
            hint="ask fewer clusters, or --since a day",
            is_retryable=True,
        )

    def _is_answered(self, query: str) -> bool:
        try:
            with translated("the question to Athena"):
                status = self._athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]
        except Throttled:
            return False
        if status["State"] in _OVER:
            raise _refused(status)
        return status["State"] == "SUCCEEDED"

    def _answer(self, query: str) -> FleetAnswer:
        with translated("the answer of Athena"):
            pages = list(self._athena.get_paginator("get_query_results").paginate(QueryExecutionId=query))
        described = pages[0]["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
        kinds = [str(each["Type"]) for each in described]
        rows = [row for page in pages for row in page["ResultSet"]["Rows"]]
        # The first row repeats the names of the columns.
        values = [_values(row, kinds) for row in rows[1:]]
        return FleetAnswer(columns=tuple(str(each["Name"]) for each in described), rows=values)


def _refused(status: Mapping[str, Any]) -> InputRefused | UpstreamFailed:
    """Athena says whose fault it was: 2 is the question's."""
    fault: Mapping[str, Any] = status.get("AthenaError", {})
    said = f"Athena did not answer: {status.get('StateChangeReason', status['State'])}"
    if fault.get("ErrorCategory") == 2:
        return InputRefused(said, hint="correct the question, name its clusters, or make the tables: fleet tables")
    return UpstreamFailed(said, hint="ask again", is_retryable=bool(fault.get("Retryable", False)))


def _literal(value: str) -> str:
    """Athena binds literals, so a text comes in quotes, and no quote within ends it."""
    return "'" + value.replace("'", "''") + "'"


def _values(row: Mapping[str, Any], kinds: Sequence[str]) -> list[Any]:
    return [_value(cell.get("VarCharValue"), kind) for cell, kind in zip(row["Data"], kinds, strict=True)]


def _value(text: str | None, kind: str) -> Any:
    return text if text is None else _KINDS.get(kind, str)(text)
