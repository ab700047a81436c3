"""Athena's JSON protocol over real HTTP, with DuckDB behind it. Values are bound as Athena binds them: as literals."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from affidavit.fleet.duckdb_connection import connect
from affidavit.fleet.local_query import _source
from affidavit.fleet.schema import TABLES

PAGE = 20
_KINDS = {"VARCHAR": "varchar", "BIGINT": "bigint", "HUGEINT": "bigint", "DOUBLE": "double", "DATE": "date"}


@dataclass
class Athena:
    """`states` are said in turn before the last one, which stays; `throttled` requests are refused first."""

    folder: Path
    states: list[str] = field(default_factory=lambda: ["QUEUED", "RUNNING", "SUCCEEDED"])
    reason: str = ""
    error: dict[str, Any] = field(default_factory=dict)
    throttled: dict[str, int] = field(default_factory=dict)
    asked: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    _told: dict[str, int] = field(default_factory=dict)
    _ran: dict[str, tuple[list[tuple[str, str]], list[tuple[Any, ...]]]] = field(default_factory=dict)

    def answer(self, operation: str, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.calls.append(operation)
        if self.throttled.get(operation, 0) > 0:
            self.throttled[operation] -= 1
            return 400, {"__type": "TooManyRequestsException", "message": "slow down"}
        known = {
            "StartQueryExecution": self._start,
            "GetQueryExecution": self._state,
            "StopQueryExecution": self._stop,
            "GetQueryResults": self._results,
        }
        return 200, known[operation](request)

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        self.asked.append(request)
        return {"QueryExecutionId": str(len(self.asked) - 1)}

    def _state(self, request: dict[str, Any]) -> dict[str, Any]:
        query = request["QueryExecutionId"]
        place = self._told.get(query, 0)
        self._told[query] = place + 1
        status: dict[str, Any] = {"State": self.states[min(place, len(self.states) - 1)]}
        if status["State"] in ("FAILED", "CANCELLED"):
            status |= {"StateChangeReason": self.reason, "AthenaError": self.error}
        return {"QueryExecution": {"QueryExecutionId": query, "Status": status}}

    def _stop(self, request: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _results(self, request: dict[str, Any]) -> dict[str, Any]:
        query = request["QueryExecutionId"]
        if query not in self._ran:
            self._ran[query] = self._run(self.asked[int(query)])
        columns, rows = self._ran[query]
        lines = [[name for name, _ in columns], *([_text(value) for value in row] for row in rows)]
        start = int(request.get("NextToken", 0))
        page = [{"Data": [{"VarCharValue": cell} if cell is not None else {} for cell in line]} for line in lines]
        described = [{"Name": name, "Type": kind} for name, kind in columns]
        result = {"Rows": page[start : start + PAGE], "ResultSetMetadata": {"ColumnInfo": described}}
        more = {"NextToken": str(start + PAGE)} if start + PAGE < len(page) else {}
        return {"ResultSet": result, **more}

    def _run(self, request: dict[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        with connect() as engine:
            for table in TABLES:
                engine.execute(f"CREATE VIEW {table.name} AS {_source(self.folder, table)}")
            engine.execute(f"PREPARE asked AS {request['QueryString']}")
            values = ", ".join(request.get("ExecutionParameters", ()))
            found = engine.execute(f"EXECUTE asked({values})" if values else "EXECUTE asked")
            columns = [(str(each[0]), _KINDS.get(str(each[1]), "timestamp")) for each in found.description]
            return columns, found.fetchall()


def _text(value: Any) -> str | None:
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    if isinstance(value, date):
        return value.isoformat()
    return None if value is None else str(value)


@contextmanager
def serving(athena: Athena) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = athena.answer(self.headers["X-Amz-Target"].partition(".")[2], body)
            said = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(said)))
            self.end_headers()
            self.wfile.write(said)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
