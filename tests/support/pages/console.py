"""A console that is served for a test: a real server on 127.0.0.1 over real local stores, and people who log in."""

import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from affidavit.adapters.local.table import SqliteTable
from affidavit.agent.toolbox.tool_providers import DirectToolProvider
from affidavit.bootstrap import App, build_app
from affidavit.entrypoints.console.access.person import Person, PersonRole
from affidavit.entrypoints.console.app import console_app
from affidavit.entrypoints.console.laptop import SESSIONS
from affidavit.entrypoints.console.services import ConsoleServices
from affidavit.entrypoints.http.listening_socket import listener
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, load_workload_scenario
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import readings_of
from affidavit.incidents.store.stored_diagnoses import context_key
from affidavit.incidents.telemetry import to_nowhere
from affidavit.ports.clock import Clock
from affidavit.ports.table import Update
from affidavit.settings import Settings
from tests.support.investigations.incidents import REMAINING, Scripted, a_bench, an_incident, local_tables


@dataclass(frozen=True, kw_only=True)
class ServedConsole:
    base: str
    desk: ConsoleServices
    folder: Path

    def browser(self, *roles: PersonRole, name: str = "ada") -> httpx.Client:
        """A client with a session, as a browser that shows a page of the console."""
        client = httpx.Client(base_url=self.base, headers={"Sec-Fetch-Site": "same-origin"}, timeout=30)
        client.cookies.set(self.cookie, self.session(*roles, name=name), domain="127.0.0.1")
        return client

    def session(self, *roles: PersonRole, name: str = "ada") -> str:
        return self.desk.sessions.start(Person(name=name, roles=frozenset(roles or PersonRole)))

    @property
    def cookie(self) -> str:
        return f"affidavit-{self.base.rpartition(':')[2]}"

    def token(self, client: httpx.Client) -> str:
        found = self.desk.sessions.find(client.cookies[self.cookie])
        assert found is not None
        return found.token

    def post(self, client: httpx.Client, path: str, **fields: str) -> httpx.Response:
        return client.post(path, data={"token": self.token(client), **fields})

    def investigated(self, scripted: Scripted | None = None, **changes: Any) -> Incident:
        """An incident that ran to its end in the console's own store."""
        incident = an_incident(**changes)
        bench = a_bench(self.folder, scripted=scripted, clock=self.desk.app.clock)  # pyright: ignore[reportArgumentType] any clock
        bench.supervisor.receive(incident, remaining=REMAINING)
        return incident

    def rewritten(self, incident: Incident, diagnosis: Diagnosis) -> None:
        """Puts a diagnosis into the store that no investigation could have stored."""
        told = {"diagnosis": diagnosis.model_dump_json()}
        self.desk.app.incident_context.write(Update(key=context_key(incident.incident_id), set=told))

    def concluded(
        self, scenario: str = "permission-s3-statement-removed", wait: Callable[[], None] = lambda: None
    ) -> str:
        """An incident of a made-up account, investigated by rules; `wait` runs before each question."""
        made = load_workload_scenario(SCENARIOS / f"{scenario}.yaml")
        settings = self.desk.app.settings.model_copy(update={"chat_provider": "offline"})
        supervisor = build_supervisor(
            replace(self.desk.app, settings=settings),
            emit=to_nowhere,
            toolbox=lambda: lambda _: DirectToolProvider(_Waiting(made.workloads(), wait)),
        )
        incident = replace(readings_of(made.event(), now=supervisor.clock.now())[0], may_join=None)
        # In a thread of its own: a browser's test runs inside an event loop, and an investigation starts one.
        with ThreadPoolExecutor(1) as thread:
            receipt = thread.submit(supervisor.receive, incident, remaining=timedelta(minutes=2))
        return receipt.result().incident_id


@dataclass(frozen=True)
class _Waiting:
    tools: Any
    wait: Callable[[], None]

    def answer(self, name: str, arguments: Any) -> Any:
        self.wait()
        return self.tools.answer(name, arguments)


@contextmanager
def served(folder: Path, *, clock: Clock | None = None, **changes: Any) -> Generator[ServedConsole]:
    """`changes` in capitals are settings, others are of the services."""
    settings = {name: value for name, value in changes.items() if name.isupper()}
    changes = {name: value for name, value in changes.items() if not name.isupper()}
    app: App = build_app(Settings.model_validate({"AFFIDAVIT_DATA": folder, **settings}))
    if clock is not None:
        state, context = local_tables(folder, clock)  # pyright: ignore[reportArgumentType] any clock
        app = replace(app, clock=clock, incident_state=state, incident_context=context)
    own = SqliteTable(folder / SESSIONS, "console", app.clock)
    with listener("127.0.0.1", 0) as taken:
        base = f"http://127.0.0.1:{taken.getsockname()[1]}"
        if callable(oidc := changes.get("oidc")):
            changes["oidc"] = oidc(base)
        desk = ConsoleServices(app=app, session_table=own, **{"takes_links": True, **changes})
        server = uvicorn.Server(uvicorn.Config(console_app(desk), ws="none", log_level="error", access_log=False))
        thread = threading.Thread(target=server.run, args=([taken],), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield ServedConsole(base=base, desk=desk, folder=folder)
        server.should_exit = True
        thread.join(10)
