"""Asks the fleet's tables through Athena."""

import time
from collections.abc import Sequence
from typing import Any

from affidavit.adapters.aws.clients import AwsClients, translated
from affidavit.errors import UpstreamFailed
from affidavit.fleet.dialect import check_sql
from affidavit.fleet.local import FleetAnswer

MOST_SECONDS = 300
_OVER = ("SUCCEEDED", "FAILED", "CANCELLED")


class AthenaFleet:
    """`workgroup` says where results go, and how much a question may read."""

    def __init__(self, clients: AwsClients, *, workgroup: str, database: str) -> None:
        self._clients, self._workgroup, self._database = clients, workgroup, database

    def ask(self, sql: str) -> FleetAnswer:
        check_sql(sql)
        with translated("the question to Athena"):
            started = self._athena.start_query_execution(
                QueryString=sql, WorkGroup=self._workgroup, QueryExecutionContext={"Database": self._database}
            )
        self._wait(started["QueryExecutionId"])
        return self._answer(started["QueryExecutionId"])

    @property
    def _athena(self) -> Any:
        return self._clients.client("athena")

    def _wait(self, query: str) -> None:
        deadline = time.monotonic() + MOST_SECONDS
        while time.monotonic() < deadline:
            with translated("the question to Athena"):
                status = self._athena.get_query_execution(QueryExecutionId=query)["QueryExecution"]["Status"]
            if status["State"] == "SUCCEEDED":
                return
            if status["State"] in _OVER:
                why = status.get("StateChangeReason", status["State"])
                raise UpstreamFailed(f"Athena did not answer: {why}", hint="correct the question, or make the tables")
            time.sleep(0.5)
        raise UpstreamFailed("Athena did not answer in five minutes", hint="name a cluster and a dt", is_retryable=True)

    def _answer(self, query: str) -> FleetAnswer:
        with translated("the answer of Athena"):
            pages = list(self._athena.get_paginator("get_query_results").paginate(QueryExecutionId=query))
        described = pages[0]["ResultSet"]["ResultSetMetadata"]["ColumnInfo"]
        rows = [row for page in pages for row in page["ResultSet"]["Rows"]]
        # The first row repeats the names of the columns.
        return FleetAnswer(columns=tuple(each["Name"] for each in described), rows=[_values(row) for row in rows[1:]])


def _values(row: dict[str, Any]) -> Sequence[str | None]:
    return [cell.get("VarCharValue") for cell in row["Data"]]
