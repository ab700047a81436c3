"""Every command on a page is run, or stands here with the reason why not and the test that runs it instead."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer
from tests.support.documented import LANGUAGES, ROOT, ReadersFolder, ShownCommand, blocks, pages, shown_commands
from tests.support.processes.command import affidavit

from affidavit.entrypoints.cli.reference.commands_page import commands

AWS = "needs an AWS account with a deployment"
SERVES = "serves until it is stopped"
MINUTES = "takes minutes"
DEMO = ("tests/flows/incidents/test_acceptance_demo.py", "src/affidavit/entrypoints/cli/demo/repair.py")
# What a line begins with → why it is only parsed here → what runs it: a test, and what the test has type it.
ELSEWHERE = (
    ("affidavit deploy", AWS, "tests/infra/test_deployed.py"),
    ("affidavit chaos", "needs AWS, if only the sandbox", "tests/flows/workloads/test_chaos.py"),
    ("affidavit sandbox", "leaves an AWS running", "tests/flows/workloads/test_sandbox_command.py"),
    ("affidavit remedy propose", "repairs a real function", *DEMO),
    ("affidavit remedy show", "PLAN comes from a repair", *DEMO),
    ("affidavit remedy approve", "a person types the seal", *DEMO),
    ("affidavit remedy undo", "repairs a real function", *DEMO),
    ("affidavit verify PLAN", "PLAN comes from a repair", *DEMO),
    ("affidavit console", SERVES, "tests/flows/incidents/test_console_command.py"),
    ("affidavit mcp --http", SERVES, "tests/flows/mcp/test_mcp_http.py"),
    ("MCP_API_KEY=… affidavit mcp", SERVES, "tests/flows/mcp/test_mcp_http.py"),
    ("affidavit notice test", "posts to Slack", "tests/unit/cli/test_notice_command.py"),
    ("affidavit eval", MINUTES, "tests/flows/bundles/test_eval_command.py"),
)
# Programs of others → why the line is not run.
OTHERS = {
    "make": "takes minutes; what it names is a target of the Makefile",
    "python": "a tool of the checkout that takes minutes; what it names is a module",
    "uvx": "installs the published package; `make dist` installs the wheel",
    "pip": "installs the published package; `make dist` installs the wheel",
    "pipx": "installs the published package; `make dist` installs the wheel",
    "export": "a setting",
    "for": "a loop of the shell around commands of this list",
    "do": "a loop of the shell around commands of this list",
    "done": "a loop of the shell around commands of this list",
    "eval": "a setting of the shell that runs it",
    "aws": AWS,
    "docker": "needs a container engine; tests/infra/test_image.py starts what goes into the image",
    "kubectl": "needs a cluster",
    "helm": "needs a cluster; `make chart` renders the chart with Helm itself",
    "claude": "a client of MCP; tests/clients has others",
    "git": "changes the reader's checkout",
}


def elsewhere(shown: ShownCommand) -> tuple[str, ...] | None:
    """The files that run the line."""
    return next((tests for begin, _, *tests in ELSEWHERE if shown.text.startswith(begin)), None)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle")
    assert affidavit("sample", "--faults", "oom", "--out", folder).returncode == 0
    return next(folder.glob("*.tar.gz"))


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_can_be_followed_from_top_to_bottom(page: Path, tmp_path: Path, bundle: Path) -> None:
    runnable = [shown for shown in shown_commands(page) if shown.words and elsewhere(shown) is None]
    reader = ReadersFolder(tmp_path / "reader", bundle)
    for shown in runnable:
        code, said = reader.run(shown)
        assert code == 0, f"{shown.page}: {shown.text}\nended with {code}: {said[-1500:]}"


def test_a_command_that_is_not_run_here_can_be_parsed_and_is_run_with_these_options_elsewhere() -> None:
    shown = [one for page in pages() for one in shown_commands(page)]
    for one in shown:
        found = elsewhere(one)
        if found is not None:
            words = shlex.split(one.text)
            ran = "\n".join((ROOT / file).read_text() for file in found)
            assert missing_of(parse(words[words.index("affidavit") + 1 :]), ran) == [], one.text
    unused = [begin for begin, *_ in ELSEWHERE if not any(one.text.startswith(begin) for one in shown)]
    assert unused == []


def missing_of(words: list[str], ran: str) -> list[str]:
    """Words of a command and its options that nobody types there."""
    return [word for word in words if re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", ran) is None]


def test_what_a_test_does_not_type_is_noticed() -> None:
    assert missing_of(["mcp", "--http", "--port"], 'affidavit("mcp", "--http-more", "--port")') == ["--http"]


def test_a_line_of_another_program_is_known_and_what_it_makes_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in pages():
        for shown in shown_commands(page):
            if shown.words or elsewhere(shown) is not None or re.match(r"[A-Z_]+=\S+$", shown.text):
                continue
            program, *rest = shlex.split(shown.text)
            assert program in OTHERS, f"{shown.page}: {shown.text}"
            if program == "make":
                assert {word for word in rest if "=" not in word} <= targets, shown.text
            if program == "python":
                assert rest[0] == "-m" and find_spec(rest[1]) is not None, shown.text


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_no_command_hides_in_a_block_without_a_language(page: Path) -> None:
    for language, text in blocks(page):
        hidden = re.search(r"^(\$ )?affidavit ", text, re.MULTILINE)
        assert language in LANGUAGES or hidden is None, f"{page.name}: {hidden and hidden[0]}"


def parse(words: list[str]) -> list[str]:
    """The command's name and options, read as the command itself does. Raises what is wrong with the line."""
    name, known = "affidavit", commands()
    while words and f"{name} {words[0]}" in known:
        name = f"{name} {words.pop(0)}"
    options = [word.partition("=")[0] for word in words if word.startswith("-")]
    known[name].make_context(name, words, parent=typer.Context(known["affidavit"]))
    return [*name.split()[1:], *options]
