"""Runs `affidavit demo`: starts the sandbox, breaks it, and shows each step while it happens."""

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from affidavit.entrypoints.cli.demo.commands_run_as_typed import run_typed
from affidavit.entrypoints.cli.demo.repair import tell_known_good, tell_repair
from affidavit.entrypoints.cli.demo.step_printing import Story
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.package_extras import need_extras
from affidavit.errors import InputRefused, UpstreamFailed

if TYPE_CHECKING:
    from affidavit.incidents.supervisor import Supervisor
    from affidavit.sandbox.chat_models.bedrock import BedrockSimulator
    from affidavit.sandbox.sandbox import Sandbox

ALERT_SECONDS = 60
INVESTIGATION_SECONDS = 300
LOOK_SECONDS = 0.2


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    provider: str
    model: str
    out: Path
    has_console: bool = False


def run_demo(options: DemoOptions) -> Exit:
    """Raises InputRefused before anything is started."""
    need_extras("agent", "aws", "sandbox", *(("console",) if options.has_console else ()))
    started, story = time.monotonic(), Story()
    chat, bedrock = _chat(options)
    with _sandbox(chat, bedrock, story) as (sandbox, environment):
        _tell_incident(story, environment)
        _tell_node(story, sandbox, options.out)
        if options.has_console:
            _look_around(story)
            return Exit.DONE
    story.step("Done")
    story.say(f"Everything that was started is stopped. It took {time.monotonic() - started:.0f} seconds.")
    report = max(options.out.glob("results*/report.html"), key=lambda file: file.stat().st_mtime)
    story.say(f"The node's report is {report}. Yours: {command_name()} analyze BUNDLE")
    return Exit.DONE


def command_name() -> str:
    """The command as a person can type it: after `make demo` the virtual environment is rarely on the path."""
    if shutil.which("affidavit") is not None:
        return "affidavit"
    command = Path(sys.executable).with_name("affidavit")
    return os.path.relpath(command) if command.exists() else f"{sys.executable} -m affidavit"


# --- a Lambda function that fails ------------------------------------------------------------------------------------


@contextmanager
def _sandbox(
    chat: dict[str, str], bedrock: "BedrockSimulator | None", story: Story
) -> "Generator[tuple[Sandbox, Mapping[str, str]]]":
    """Starts a sandbox that always ends with this process. Yields it and its variables."""
    from affidavit.entrypoints.cli.sandbox.upload_indexing import indexing
    from affidavit.sandbox.incident_pipeline import IncidentPath
    from affidavit.sandbox.sandbox import Sandbox
    from affidavit.sandbox.session_file import recorded

    story.step("A laptop AWS starts")
    story.say("An emulator with IAM enforced, a Lambda function in a VPC, alarms, an MCP server and a supervisor.")
    story.say("All of it listens on 127.0.0.1 alone; its keys open nothing elsewhere.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="affidavit-demo-")))
        sandbox = stack.enter_context(Sandbox(folder / "sandbox", on_upload=indexing(), bedrock=bedrock))
        path = stack.enter_context(IncidentPath(sandbox, chat=chat))
        # Its alarm would also fire, and open a second incident that a real chat model would bill.
        sandbox.client("cloudwatch").disable_alarm_actions(AlarmNames=path.seeded.alarms)
        environment = {**path.environment, "AFFIDAVIT_DATA": str(folder)}
        stack.enter_context(_in_force(environment))
        stack.enter_context(recorded(folder, environment, people=path.people))
        yield sandbox, environment


@contextmanager
def _in_force(environment: Mapping[str, str]) -> Generator[None]:
    """Replaces every variable of a real account by the sandbox's, and puts them back afterwards."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ.update(environment)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _chat(options: DemoOptions) -> "tuple[dict[str, str], BedrockSimulator | None]":
    if options.provider == "offline":
        return {"CHAT_PROVIDER": "offline"}, None
    if options.provider != "bedrock":
        raise InputRefused(f"the demo knows no provider {options.provider!r}", hint="offline or bedrock")
    if not options.model:
        raise InputRefused("no chat model is named", hint="give --model, a model id or an inference profile")
    from affidavit.sandbox.chat_models.bedrock_relay import relay_to_bedrock
    from affidavit.settings import Settings

    relay = relay_to_bedrock(Settings.from_environment().region)
    return {"CHAT_PROVIDER": "bedrock", "CHAT_MODEL_ID": options.model}, relay


def _tell_incident(story: Story, environment: Mapping[str, str]) -> None:
    supervisor = _reader()
    story.step("The workload is healthy")
    _command(story, "sandbox invoke")
    tell_known_good(story)
    story.step("Somebody takes the function's S3 permission away")
    _command(story, "chaos iam revoke --target s3")
    story.step("It fails, and says so to an SNS topic")
    _command(story, "sandbox invoke", expected=Exit.FOUND)
    name = _arrived(supervisor)
    story.say(f"The alert became incident {name}.")
    story.step(f"The supervisor investigates (chat model: {environment['CHAT_PROVIDER']})")
    _follow(story, supervisor, name)
    story.step("A diagnosis in which every value was re-read from what a tool answered")
    _command(story, f"incident show {name}")
    story.step("Proven again from what is stored, without a chat model")
    _command(story, f"verify {name}")
    tell_repair(story, name)


def _look_around(story: Story) -> None:
    """Serves the console until it is stopped; the sandbox lives as long."""
    from affidavit.entrypoints.console.laptop import run_console

    story.step("Look around in the console; Ctrl-C ends it and everything that was started")
    run_console(port=0)


def _reader() -> "Supervisor":
    from affidavit.bootstrap import build_app
    from affidavit.entrypoints.supervisor_wiring import build_supervisor
    from affidavit.incidents.telemetry import to_nowhere
    from affidavit.settings import Settings

    return build_supervisor(build_app(Settings.from_environment()), emit=to_nowhere)


def _arrived(supervisor: "Supervisor") -> str:
    """The workload's own report."""
    deadline = time.monotonic() + ALERT_SECONDS
    while time.monotonic() < deadline:
        for state in supervisor.states.listed(supervisor.clock.now(), limit=20):
            if state.incident.incident_id.startswith("data-processor-"):
                return state.incident.incident_id
        time.sleep(LOOK_SECONDS)
    raise UpstreamFailed("the alert did not arrive", hint="start again; `affidavit sandbox up` shows more")


def _follow(story: Story, supervisor: "Supervisor", name: str) -> None:
    from affidavit.incidents.incident import IncidentId

    deadline, told = time.monotonic() + INVESTIGATION_SECONDS, 0
    while time.monotonic() < deadline:
        state = supervisor.states.get_state(IncidentId(name))
        if state is not None and state.checkpoint is not None:
            told = story.tell_turns(supervisor.records.read(state.checkpoint), after=told)
        if state is not None and not state.status.is_open:
            story.say(f"It ended: {state.status}{f' ({state.error_reason})' if state.error_reason else ''}.")
            return
        time.sleep(LOOK_SECONDS)
    raise UpstreamFailed(f"incident {name} did not end", hint="is the chat model reachable?")


# --- a node that fails -----------------------------------------------------------------------------------------------


def _tell_node(story: Story, sandbox: "Sandbox", out: Path) -> None:
    from affidavit.entrypoints.cli.demo.node_story import NodeStory

    supervisor = _reader()
    NodeStory(
        story=story,
        sandbox=sandbox,
        supervisor=supervisor,
        run=lambda line: _command(story, line),
        follow=lambda name: _follow(story, supervisor, name),
    ).tell(out)


def _command(story: Story, line: str, *, expected: Exit = Exit.DONE) -> None:
    """Runs a command as a person would type it."""
    run_typed(story, line, expected=expected)
