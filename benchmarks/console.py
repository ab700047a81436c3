"""What pages of the console cost: 10,000 incidents, 10,000 findings and a log file of a gigabyte.

Times are of this process's CPU, so that a busy machine changes them little; sizes are what a browser gets.
"""

import asyncio
import random
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
from tests.support.pages.many_incidents import write_many

from affidavit.adapters.local.table import SqliteTable
from affidavit.bootstrap import build_app
from affidavit.entrypoints.console.access.person import Person, PersonRole
from affidavit.entrypoints.console.app import console_app
from affidavit.entrypoints.console.laptop import SESSIONS
from affidavit.entrypoints.console.services import ConsoleServices
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.evaluation.incidents.workload_scenarios import SCENARIOS, load_workload_scenario
from affidavit.incidents.incident import Incident
from affidavit.incidents.intake.event_reader import readings_of
from affidavit.index.findings_index import index_from_json, index_to_json, summarize
from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.library.object_keys import prefix_of
from affidavit.settings import Settings
from benchmarks.bundles import DATA
from benchmarks.cases import Result

INCIDENTS = 10_000
FINDINGS = 10_000
LOG_BYTES = 1 << 30
BASE = "http://127.0.0.1:8322"
MOST_MILLISECONDS, MOST_KILOBYTES = 100.0, 300.0


@dataclass(frozen=True, kw_only=True)
class Bench:
    desk: ConsoleServices
    instance: str
    lines: int


def page_costs(visits: int = 40) -> Iterator[Result]:
    folder = DATA / "console"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    bench = filled(folder)
    for name, paths in pages(bench, visits).items():
        first, costs, size = asyncio.run(_visited(bench.desk, paths))
        yield figure(f"{name}, first visit, CPU", first * 1000, None, "ms")
        yield figure(f"{name}, p95, CPU", costs * 1000, MOST_MILLISECONDS, "ms")
        yield figure(f"{name}, largest", size / 1000, MOST_KILOBYTES, "kB")
    shutil.rmtree(folder, ignore_errors=True)


def figure(name: str, value: float, target: float | None, unit: str) -> Result:
    return Result(name=f"console: {name}", value=value, target=target, better="lower", unit=unit)


def pages(bench: Bench, visits: int) -> dict[str, list[str]]:
    chance = random.Random(7)
    log = f"/logs/{prefix_of(bench.instance)}/extracted/kernel/large.log"
    shelf = bench.desk.library.find(bench.instance)
    return {
        "first page": ["/"] * visits,
        "search": [f"/?q=inc-{chance.randrange(1000):05d}" for _ in range(visits)],
        "incident": [f"/incidents/inc-{chance.randrange(INCIDENTS):05d}" for _ in range(visits)],
        "nodes": ["/nodes"] * visits,
        "report of 10,000 findings": [f"/nodes/{bench.instance}/{shelf.index_id}"] * visits,
        "log of 1 GB": [f"{log}?from={chance.randrange(1, bench.lines)}" for _ in range(visits)],
        "log with 10,000 findings": [
            f"/logs/{prefix_of(bench.instance)}/extracted/kernel/dmesg.human.current?from={chance.randrange(1, 200)}"
            for _ in range(visits)
        ],
        "approvals": ["/approvals"] * visits,
        "settings": ["/settings"] * visits,
    }


async def _visited(desk: ConsoleServices, paths: list[str]) -> tuple[float, float, int]:
    """Cost of the first visit, the 95th percentile of all others, and the largest answer as it goes over the wire."""
    session = desk.sessions.start(Person(name="ada", roles=frozenset(PersonRole)))
    transport = httpx.ASGITransport(console_app(desk))
    costs, sizes = list[float](), list[int]()
    async with httpx.AsyncClient(transport=transport, base_url=BASE, cookies={"affidavit-8322": session}) as client:
        for path in paths:
            before = time.process_time()
            async with client.stream("GET", path) as answer:
                size = sum([len(part) async for part in answer.aiter_raw()])
                if answer.status_code != 200:
                    raise RuntimeError(f"{path} answered {answer.status_code}")
            costs.append(time.process_time() - before)
            sizes.append(size)
    later = sorted(costs[1:])
    return costs[0], later[int(len(later) * 0.95) - 1], max(sizes)


def filled(folder: Path) -> Bench:
    """Its store is `folder / "data"`."""
    app = build_app(Settings.model_validate({"AFFIDAVIT_DATA": folder / "data", "CHAT_PROVIDER": "offline"}))
    own = SqliteTable(folder / "data" / SESSIONS, "console", app.clock)
    desk = ConsoleServices(app=app, session_table=own)
    now = datetime.now(UTC)
    write_many(app.incident_state, _alert(now), now, count=INCIDENTS)
    instance = _node(desk, folder)
    return Bench(desk=desk, instance=instance, lines=_large_log(folder, instance))


def _alert(now: datetime) -> Incident:
    made = load_workload_scenario(SCENARIOS / "permission-s3-statement-removed.yaml")
    incident = readings_of(made.event(), now=now)[0]
    if not isinstance(incident, Incident):
        raise TypeError("the scenario's event is no incident")
    return incident


def _node(desk: ConsoleServices, folder: Path) -> str:
    """A bundle whose index has its findings again and again."""
    (folder / "bundles").mkdir()
    archive = write(generate(BundleSpec(layout=Layout.AL2023, faults=("oom", "dns"))), folder / "bundles", Form.TAR_GZ)
    marker = ingest(archive, desk.library, analyze=analyze).marker
    file = folder / "data" / "objects" / marker.index_key
    index = index_from_json(file.read_bytes())
    few = index.findings
    many = tuple(replace(few[number % len(few)], finding_id=f"F-{number + 1:05d}") for number in range(FINDINGS))
    file.chmod(0o600)
    file.write_bytes(index_to_json(replace(index, findings=many, summary=summarize(many))))
    return marker.instance_id


def _large_log(folder: Path, instance: str) -> int:
    lines = 0
    file = folder / "data" / "objects" / prefix_of(instance) / "extracted" / "kernel" / "large.log"
    with file.open("wb") as out:
        while out.tell() < LOG_BYTES:
            part = b"".join(
                b"Jan 15 10:00:%02d ip-10-0-1-2 kernel: [%d.%06d] eth0: packet %d of a large log\n"
                % (n % 60, n, n % 1000000, n)
                for n in range(lines, lines + 100_000)
            )
            out.write(part)
            lines += 100_000
    return lines
