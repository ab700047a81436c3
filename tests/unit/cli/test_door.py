"""However the command ends, the exit code says what happened: 1 is kept for what the evidence says."""

import subprocess
import sys

import pytest

DOOR = """
import affidavit.entrypoints.cli.main as main

def app():
    {does}

main.app = app
main.run()
"""


def leave(does: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", DOOR.format(does=does)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("crash", ["raise RuntimeError('odd')", "raise RecursionError('odd')", "raise KeyError('odd')"])
def test_a_crash_is_a_sentence_with_a_hint_and_the_code_of_our_own_errors(crash: str) -> None:
    done = leave(crash)
    assert done.returncode == 4
    said, hint = done.stderr.splitlines()
    assert said.startswith("affidavit: an error of Affidavit's own: ")
    assert "odd" in said
    assert "AFFIDAVIT_DEBUG=1" in hint


def test_the_traceback_is_there_when_it_is_asked_for() -> None:
    done = leave("raise RuntimeError('odd')", AFFIDAVIT_DEBUG="1")
    assert done.returncode == 4
    assert "Traceback" in done.stderr
    assert "in app" in done.stderr


def test_what_a_disk_refuses_is_named_and_is_not_our_own_error() -> None:
    done = leave("open('/nowhere/at/all')")
    assert done.returncode == 3
    assert "affidavit: /nowhere/at/all: No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("module", "extra"), [("botocore.config", "aws"), ("langgraph", "agent"), ("duckdb", "fleet")])
def test_a_missing_extra_is_named_with_how_to_get_it(module: str, extra: str) -> None:
    done = leave(f"raise ModuleNotFoundError('No module', name='{module}')")
    assert done.returncode == 2
    assert f"affidavit: this command needs the extra `{extra}`\n  pip install 'affidavit[{extra}]'\n" == done.stderr


def test_a_module_of_nobodys_extra_is_our_own_error() -> None:
    assert leave("import affidavit.no_such_module").returncode == 4


def test_a_message_cannot_control_the_terminal() -> None:
    assert "\x1b" not in leave("raise RuntimeError('\\x1b[2J')").stderr


@pytest.mark.parametrize(
    "printing",
    [
        "[print('x' * 4096, flush=True) for _ in range(1000)]",
        "import typer; cli = typer.Typer(); cli.command()(lambda: [print('x' * 4096) for _ in range(1000)]); cli([])",
        "from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console;"
        " console = make_console(no_color=True); [console.print('x' * 4096) for _ in range(1000)]",
    ],
)
def test_a_reader_that_went_away_is_no_verdict(printing: str) -> None:
    command = [sys.executable, "-c", DOOR.format(does=printing)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


def test_what_windows_lacks_is_told_with_what_to_do_there() -> None:
    done = leave("raise ModuleNotFoundError('no fcntl', name='fcntl')")
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "affidavit: this command needs Linux or macOS",
        "  on Windows run it in WSL 2",
    ]
