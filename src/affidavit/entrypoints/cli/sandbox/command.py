"""`affidavit sandbox`: a laptop AWS to try everything on. Heavy modules are imported on use."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.package_extras import need_extras
from affidavit.errors import NotFound, UpstreamFailed

if TYPE_CHECKING:
    from affidavit.sandbox.session_file import Session

EPILOG = """Exit codes: 0 done · 1 none runs (status) · 2 the input was refused, one runs already, or none runs ·
3 it did not start or stop · 4 an error of Affidavit's own · 130 interrupted"""
INVOKE_EPILOG = """Exit codes: 0 the run succeeded · 1 it failed, or was throttled · 2 no sandbox runs ·
3 the sandbox could not be asked · 4 an error of Affidavit's own · 130 interrupted"""
START_SECONDS = 60.0
EXTRAS = ("agent", "aws", "sandbox")
SIMULATED_CHAT = {"CHAT_PROVIDER": "bedrock", "CHAT_MODEL_ID": "anthropic.claude-good"}
WHAT_TO_TRY = """# try, in a shell that has these variables (eval "$(affidavit sandbox env)"):
#   affidavit sandbox invoke                       run the demo workload, data-processor
#   affidavit chaos iam revoke --target s3         break it, then invoke it again
#   affidavit incident list                        its alert became an incident; show, watch
#   affidavit verify INCIDENT                      prove the diagnosis again, without a chat model
#   affidavit remedy propose INCIDENT              a plan to repair it, sealed; two people must approve:
#     (eval "$(affidavit sandbox env --as alice)"; affidavit remedy approve PLAN), then the same as bob
#   affidavit chaos restore                        or put back what chaos changed, without a plan
#   affidavit sandbox alarm i-0a11ce0000000001     a node's alarm fires: it is collected and diagnosed; list, show
#   affidavit incident submit --node i-0a11ce0000000002
#                                                  or ask about one yourself, and wait for the answer
#   affidavit mcp                                  the tools, for an agent or editor"""

app = typer.Typer(
    name="sandbox",
    help="A laptop AWS: nodes to collect from, a workload to break. Needs no account and reaches no network.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


@app.command(epilog=EPILOG)
def up(
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running and return.")] = False,
) -> None:
    """Start the sandbox and print the variables that point other commands at it. Ctrl-C stops it.

    Everything listens on 127.0.0.1 and is forgotten when it stops. Bundles that its nodes upload are indexed as in AWS;
    the demo workload runs under its role and in its VPC, and its alerts reach a supervisor with an MCP server and a
    simulated Bedrock.

    Example: affidavit sandbox up --detach
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.session_file import refuse_second

    refuse_second(_data_dir())
    raise typer.Exit(_up_detached() if detach else _up())


@app.command(epilog=EPILOG)
def down() -> None:
    """Stop the sandbox that runs for this folder.

    Example: affidavit sandbox down
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.session_file import end, needed_session

    session = needed_session(_data_dir())
    end(session)
    print("the sandbox is stopped; a shell with its variables reaches nothing now, so go on in a new one")


@app.command(epilog=EPILOG)
def status() -> None:
    """Say whether a sandbox runs for this folder, and what it has.

    Example: affidavit sandbox status
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.session_file import running_session

    session = running_session(_data_dir())
    said = session.identity() if session is not None else None
    if session is None or said is None:
        print("no sandbox runs; start one: affidavit sandbox up --detach")
        raise typer.Exit(Exit.FOUND)
    print(f"running, process {session.pid}, {session.environment['AWS_ENDPOINT_URL']}")
    print(f"nodes: {', '.join(said['nodes'])}")
    print(f"collections: {said['collections']} ({said['start_requests']} asked for)")
    for failure in said["failed_hooks"]:
        print(f"an upload could not be indexed: {failure}")


@app.command(epilog=EPILOG)
def env(
    person: Annotated[
        str | None,
        typer.Option("--as", metavar="PERSON", help="As one of the two who approve repairs: alice or bob."),
    ] = None,
) -> None:
    """Print the variables to use, as a shell sets them.

    Example: eval "$(affidavit sandbox env)"
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.session_file import needed_session

    session = needed_session(_data_dir())
    _print_environment(session.environment if person is None else session.environment_of(person))


@app.command(epilog=INVOKE_EPILOG)
def invoke() -> None:
    """Run the sandbox's demo workload once and say how it went. It reports its own failures.

    Example: affidavit sandbox invoke
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.account.workload_run import run_workload
    from affidavit.sandbox.session_file import needed_session

    ran = run_workload(needed_session(_data_dir()).environment)
    print(ran)
    raise typer.Exit(Exit.DONE if ran.has_succeeded else Exit.FOUND)


@app.command(epilog=EPILOG)
def alarm(
    node: Annotated[str, typer.Argument(metavar="INSTANCE", help="A node, as `affidavit sandbox status` lists them.")],
) -> None:
    """Let a node fail its status check: its alarm fires, and what AWS would start then starts.

    Its logs are collected and indexed, and the incident is diagnosed; `affidavit incident list` shows it at once.

    Example: affidavit sandbox alarm i-0a11ce0000000001
    """
    need_extras(*EXTRAS)
    from affidavit.sandbox.account.node_alarms import fail_status_check
    from affidavit.sandbox.session_file import needed_session

    session = needed_session(_data_dir())
    nodes: list[str] = (session.identity() or {}).get("nodes", [])
    if node not in nodes:
        raise NotFound(f"the sandbox has no node {node!a}", hint=f"it has {', '.join(nodes)}")
    print(f"alarm {fail_status_check(session.environment, node)} fired for {node}")


def _up() -> Exit:
    from affidavit.entrypoints.cli.sandbox.upload_indexing import indexing
    from affidavit.sandbox.chat_models.bedrock import BedrockSimulator
    from affidavit.sandbox.chat_models.service_failures import FAILING
    from affidavit.sandbox.incident_pipeline import IncidentPath
    from affidavit.sandbox.sandbox import Sandbox
    from affidavit.sandbox.session_file import recorded

    stops: list[int] = []
    data_dir = _data_dir()
    _on_stop(stops.append)
    bedrock = BedrockSimulator(scripts=FAILING)
    with (
        Sandbox(data_dir / "sandbox", on_upload=indexing(), bedrock=bedrock) as sandbox,
        IncidentPath(sandbox, chat=SIMULATED_CHAT) as path,
    ):
        os.environ.pop("AWS_PROFILE", None)
        os.environ.update(path.environment)
        with recorded(data_dir, path.environment, people=path.people):
            _print_environment(path.environment)
            print(f"{WHAT_TO_TRY}\n# the sandbox runs; Ctrl-C stops it", file=sys.stderr, flush=True)
            # No lock to wait on: a signal that another thread received would not wake this one.
            while not stops:
                time.sleep(0.1)
    return Exit.DONE


def _on_stop(stop: Callable[[int], None]) -> None:
    """Ctrl-C is the normal end of a sandbox, so it is no failure here."""

    def handle(number: int, _frame: object) -> None:
        stop(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


def _up_detached() -> Exit:
    from affidavit.sandbox.access.private_files import private_file

    data_dir = _data_dir()
    data_dir.mkdir(parents=True, exist_ok=True)
    log = data_dir / "sandbox.log"
    # It holds the variables, with keys among them.
    with private_file(log) as output:
        child = subprocess.Popen(
            [sys.executable, "-m", "affidavit", "sandbox", "up"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    _print_environment(_awaited(child, data_dir, log).environment)
    print(f"{WHAT_TO_TRY}\n# the sandbox runs; affidavit sandbox down stops it", file=sys.stderr)
    return Exit.DONE


def _awaited(child: "subprocess.Popen[bytes]", data_dir: Path, log: Path) -> "Session":
    from affidavit.sandbox.session_file import running_session

    deadline = time.monotonic() + START_SECONDS
    while child.poll() is None and time.monotonic() < deadline:
        if (session := running_session(data_dir)) is not None:
            return session
        time.sleep(0.05)
    child.terminate()
    from affidavit.sandbox.processes.child import last_words

    raise UpstreamFailed(f"the sandbox did not start: {last_words(log)}", hint=f"read {log}")


def _print_environment(environment: Mapping[str, str]) -> None:
    print("unset AWS_PROFILE")
    for name, value in environment.items():
        print(f"export {name}={shlex.quote(value)}")
    sys.stdout.flush()


def _data_dir() -> Path:
    from affidavit.settings import Settings

    return Settings.from_environment().data_dir.absolute()
