"""On a narrow screen a block stays a block; into a file or pipe lines go whole."""

import io

import pytest
from rich.console import Console

from affidavit.entrypoints.report.terminal_escapes_and_colours import make_console, print_hanging, text
from affidavit.entrypoints.report.terminal_evaluation import print_evaluation
from affidavit.evaluation.accepted_baseline import stored_baseline

WORDS = "one two three four five six seven eight nine ten eleven"


def printed(first: str, *, rest: str = "", width: int = 30) -> list[str]:
    file = io.StringIO()
    print_hanging(Console(file=file, width=width), first, text(WORDS), rest=rest)
    return file.getvalue().splitlines()


def test_what_does_not_fit_goes_on_where_it_began() -> None:
    lines = printed("  ")
    assert len(lines) > 1
    assert all(line.startswith("  ") and line[2] != " " and len(line) <= 30 for line in lines)
    assert " ".join(line.strip() for line in lines) == WORDS


def test_a_quote_is_marked_on_every_line_of_it() -> None:
    lines = printed("  │ ", rest="  │ ")
    assert len(lines) > 1
    assert all(line.startswith("  │ ") for line in lines)


def test_a_pipe_gets_the_line_whole(capsys: pytest.CaptureFixture[str]) -> None:
    print_hanging(make_console(no_color=True), "  │ ", text("word " * 200 + "end"))
    assert capsys.readouterr().out == "  │ " + "word " * 200 + "end\n"


@pytest.mark.parametrize("width", [80, 240])
def test_no_header_of_an_evaluation_is_cut(width: int) -> None:
    baseline = stored_baseline()
    assert baseline is not None
    file = io.StringIO()
    print_evaluation(Console(file=file, width=width), baseline, None)
    shown = file.getvalue()
    header = shown.splitlines()[0].split()
    layout = ["layout"] if width > 80 else []
    numbers = ["problems", "findings", "precision", "recall", "severity", "citations", "ms"]
    assert header == ["scenario", *layout, *numbers]
    assert "…" not in shown
    assert ("Layouts are shown where" in shown) == (width == 80)


def test_the_no_color_variable_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert not make_console(no_color=False).no_color
    monkeypatch.setenv("NO_COLOR", "1")
    assert make_console(no_color=False).no_color
