"""The documentation says what is so: folders, commands, options, ids; and what is generated is fresh."""

import re
import shlex
from functools import cache
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

from affidavit.checks.run_on_bundle import load_checks
from affidavit.entrypoints.cli.reference.commands_page import commands
from affidavit.entrypoints.cli.reference.live_detectors_page import detector_rows
from affidavit.entrypoints.cli.reference.pages import pages
from affidavit.rules.pack import load_pack

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "affidavit"
REFERENCE = ROOT / "docs" / "reference"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
WRITTEN_BY_HAND = [page for page in PAGES if REFERENCE not in page.parents]
# Options of other programs that the pages speak of.
FOREIGN_OPTIONS = {"--help", "--check", "--http-api", "--object-lock", "--code-signing"}
FILE_ENDINGS = {"log", "txt", "yaml", "md", "json", "py", "service", "csv", "toml", "conf", "sh"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def code_of(page: Path) -> list[str]:
    """Every line inside code: fenced blocks and spans."""
    text = page.read_text("utf-8")
    fenced = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    return [line for block in fenced for line in block.splitlines()] + spans


def commands_in(page: Path) -> list[list[str]]:
    """Command lines of ours, in words, without comments and without Markdown's escapes."""
    lines = [line.strip().removeprefix("$ ").replace("\\|", "|") for line in code_of(page)]
    return [shlex.split(line, comments=True) for line in lines if re.match(r"affidavit(?: |$)", line)]


@cache
def known_commands() -> dict[str, object]:
    return commands()


def full_name(words: list[str]) -> str:
    """The longest beginning that is a command."""
    known = known_commands()
    count = max(count for count in range(1, len(words) + 1) if " ".join(words[:count]) in known)
    return " ".join(words[:count])


@cache
def options_of(command: str) -> frozenset[str]:
    return frozenset(option for each in commands()[command].params for option in each.opts if option.startswith("-"))


@cache
def known_ids() -> frozenset[str]:
    return frozenset([rule.id for rule in load_pack().rules] + [check.id for check in load_checks()])


@cache
def generated_pages() -> dict[str, str]:
    return pages(ROOT)


def test_every_page_of_the_reference_is_generated() -> None:
    assert {path.name for path in REFERENCE.iterdir()} == generated_pages().keys()


@pytest.mark.parametrize("page", sorted(path.name for path in REFERENCE.iterdir()))
def test_generated_pages_are_fresh(page: str) -> None:
    assert (REFERENCE / page).read_text("utf-8") == generated_pages()[page], f"docs/reference/{page}: run `make docs`"


@pytest.mark.parametrize(
    "folder", sorted(path.name for path in SOURCES.iterdir() if path.is_dir() and (path / "__init__.py").is_file())
)
def test_every_folder_is_on_the_map(folder: str) -> None:
    assert f"`src/affidavit/{folder}/`" in (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")


def test_every_folder_on_the_map_exists() -> None:
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    for place in re.findall(r"^\| `([\w/]+/)` \|", text, re.MULTILINE):
        assert (ROOT / place).is_dir(), place


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name)
def test_commands_and_options_that_a_page_shows_exist(page: Path) -> None:
    for words in commands_in(page):
        command = full_name(words)
        rest = words[len(command.split()) :]
        is_group = hasattr(commands()[command], "commands")
        assert not (is_group and rest and re.fullmatch(r"[a-z-]+", rest[0])), f"there is no command {' '.join(words)}"
        for word in rest:
            if word.startswith("--"):
                assert word.split("=")[0] in options_of(command) | FOREIGN_OPTIONS, f"{command} has no {word}"


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=name)
def test_every_option_named_alone_belongs_to_some_command(page: Path) -> None:
    known = {option for command in commands() for option in options_of(command)} | FOREIGN_OPTIONS
    for code in code_of(page):
        if code.startswith("-"):
            assert set(re.findall(r"(?<!\S)--[a-z][a-z-]*", code)) <= known, code


def test_every_command_is_on_the_page_of_commands() -> None:
    headings = re.findall(r"^## (affidavit.*)$", (REFERENCE / "commands.md").read_text("utf-8"), re.MULTILINE)
    assert headings == list(commands())


@pytest.mark.parametrize("command", sorted(known_commands()))
def test_every_command_has_help_and_describes_its_options(command: str) -> None:
    assert commands()[command].help
    for each in commands()[command].params:
        assert each.help, f"{command} {each.opts[0]}"


@pytest.mark.parametrize(
    "command",
    sorted({full_name(words) for page in WRITTEN_BY_HAND for words in commands_in(page)}),
)
def test_every_command_that_the_pages_show_runs(command: str) -> None:
    done = affidavit(*command.split()[1:], "--help")
    assert done.returncode == 0, done.stderr
    assert f"Usage: python -m {command}" in done.stdout or f"Usage: {command}" in done.stdout


def test_the_readme_shows_each_main_command() -> None:
    shown = {words[1] for words in commands_in(ROOT / "README.md") if len(words) > 1}
    assert {command.split()[1] for command in commands() if command.count(" ") == 1} <= shown


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_id_that_a_page_names_exists(page: Path) -> None:
    areas = {known.split(".")[0] for known in known_ids()}
    if page == REFERENCE / "rules.md":
        text = page.read_text("utf-8")
        named = set(re.findall(r"^### ([a-z0-9-]+\.[a-z0-9-]+)$|\[([a-z0-9-]+\.[a-z0-9-]+)\]\(#", text, re.MULTILINE))
        assert {first or second for first, second in named} == known_ids()
        return
    words = {
        word for code in code_of(page) for word in re.findall(r"(?<![\w./-])[a-z0-9-]+\.[a-z0-9-]+(?![\w./-])", code)
    }
    links = set(re.findall(r"\[([a-z0-9-]+\.[a-z0-9-]+)\]\(rules\.md#", page.read_text("utf-8")))
    named = {word for word in words if word.split(".")[0] in areas and word.split(".")[1] not in FILE_ENDINGS}
    assert named | links <= known_ids()


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).is_file(), f"{name(page)}: {target}"


def test_the_detectors_rows_are_complete_and_name_only_what_exists() -> None:
    rows = detector_rows(ROOT)
    rules, checks = {rule.id for rule in load_pack().rules}, {check.id for check in load_checks()}
    assert [row.row for row in rows] == list(range(1, 120))
    for row in rows:
        assert row.detector == ("NMA" if row.row < 77 else "NPD")
        assert row.rules or row.checks or row.not_in_bundle, row.row
        assert set(row.rules) <= rules, row.row
        assert set(row.checks) <= checks, row.row
