"""How long a Lambda function takes until it can work: its imports, and the answer to an alert that is known already.

    python -m benchmarks.cold_start [--packages DIR]

With packages, functions are loaded out of the zips and nothing else, as in Lambda; they must be made for this
interpreter (`python -m infra.packaging --installed --out DIR`). Every round is a new process. Bytecode is compiled
before the first one, which Lambda's first start of a package is not spared. Times are of the processor: a start does
one thing after the other, so on a machine of its own they are what a clock would show.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from affidavit.sandbox.sandbox import Sandbox
from benchmarks.cases import Result

_ALERT = """
import json
from affidavit.entrypoints.lambdas import on_incident

class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self):
        return 300_000

message = {"function_name": "data-processor", "incident_id": "one", "error_type": "ClientError"}
event = {"Records": [{"Sns": {"MessageId": "m", "Message": json.dumps(message)}}]}
"""
_TAKEN = f"""{_ALERT}
from datetime import timedelta
from affidavit.incidents.intake.event_reader import readings_of

app, supervisor = on_incident.application("")
(incident,) = readings_of(event, now=app.clock.now())
supervisor.states.take(incident, None, deadline=app.clock.now() + timedelta(hours=1))
"""
_ANSWER = 'assert "already handled" in on_incident.handler(event, Context())["body"]\n'
_DUPLICATE = f"{_ALERT}\n{_ANSWER}"
_BEGIN_HERE = "begun = time.process_time()\n"


@dataclass(frozen=True, kw_only=True)
class Start:
    """`target` is infinite where the number is told and nobody promised it."""

    name: str
    package: str
    program: str
    target: float = float("inf")
    before: str = ""
    is_in_aws: bool = False
    """With DynamoDB and S3, as the sandbox has them, instead of local stores."""


STARTS = (
    Start(
        name="ingest handler, import",
        package="ingest",
        program="import affidavit.entrypoints.lambdas.on_bundle_uploaded",
        target=0.5,
    ),
    Start(
        name="ingest, engine and rules before the first bundle",
        package="ingest",
        program="import affidavit.entrypoints.lambdas.on_bundle_uploaded as door, affidavit.investigation\n"
        "import affidavit.nodes.ingest.bundle_intake, affidavit.fleet.publish\ndoor.application()",
    ),
    Start(
        name="duplicate alert, import and answer", package="supervisor", program=_DUPLICATE, target=0.3, before=_TAKEN
    ),
    Start(
        name="duplicate alert, answer after the import",
        package="supervisor",
        program=f"{_ALERT}\n{_BEGIN_HERE}{_ANSWER}",
        target=0.05,
        before=_TAKEN,
    ),
    Start(
        name="duplicate alert on DynamoDB, import and answer",
        package="supervisor",
        program=_DUPLICATE,
        target=0.3,
        before=_TAKEN,
        is_in_aws=True,
    ),
    Start(
        name="duplicate alert on DynamoDB, the next one",
        package="supervisor",
        program=f"{_DUPLICATE}{_BEGIN_HERE}{_ANSWER}",
        target=0.05,
        before=_TAKEN,
        is_in_aws=True,
    ),
    Start(name="MCP server, import", package="mcp", program="import affidavit.entrypoints.lambdas.mcp_http"),
)


def measure(start: Start, rounds: int, content: Path | None, aws: dict[str, str]) -> Result:
    with tempfile.TemporaryDirectory() as data:
        settings = {"AFFIDAVIT_DATA": data, "CHAT_PROVIDER": "offline"} | (
            aws if start.is_in_aws else {"LOGS_BUCKET": ""}
        )
        if start.before:
            _run(start.before, content, settings)
        _run(start.program, content, settings)
        seconds = [_run(start.program, content, settings) for _ in range(rounds)]
    return Result(name=start.name, value=statistics.median(seconds), target=start.target, better="lower", unit="s")


def _run(program: str, content: Path | None, settings: dict[str, str]) -> float:
    place = f"import sys; sys.path.insert(0, {str(content)!r})\n" if content is not None else ""
    timed = f"{place}import time; begun = time.process_time()\n{program}\nprint(time.process_time() - begun)"
    alone = ["-I", "-S"] if content is not None else []
    command = [sys.executable, *alone, "-c", timed]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cold_start", description=__doc__)
    parser.add_argument("--packages", type=Path, help="folder with packages made for this interpreter")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        contents = _unpacked(asked.packages, Path(folder)) if asked.packages is not None else {}
        with Sandbox(Path(folder) / "sandbox") as sandbox:
            aws = sandbox.environment
            results = [measure(start, asked.rounds, contents.get(start.package), aws) for start in STARTS]
    for each in results:
        aim = "" if each.target == float("inf") else f"≤ {each.target:g} s {'ok' if each.is_reached else 'MISS'}"
        print(f"{each.name:52}{each.value:8.3f} s  {aim}")
    return 0 if all(each.is_reached for each in results) else 1


def _unpacked(packages: Path, folder: Path) -> dict[str, Path]:
    for built in json.loads((packages / "packages.json").read_text()):
        zipfile.ZipFile(packages / built["file"]).extractall(folder / built["name"])
    return {path.name: path for path in folder.iterdir()}


if __name__ == "__main__":
    sys.exit(main())
