"""For maintainers: write `docs/reference/` out of the rules, the checks, the detectors' rows and the command itself.

`python -m affidavit.entrypoints.cli.reference` in the repository; with `--check` it only says what is stale.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer
import typer.main
from pydantic import BaseModel, ConfigDict

from affidavit.bundle.layout import ANY, components
from affidavit.checks.check import Check
from affidavit.checks.run import load_checks
from affidavit.entrypoints.cli.exits import Exit
from affidavit.entrypoints.cli.main import app
from affidavit.entrypoints.cli.settings_page import settings_page
from affidavit.entrypoints.mcp.reference import tools_page
from affidavit.errors import InputRefused
from affidavit.rules.authoring import Library, component_files, open_library, when_it_counts
from affidavit.rules.rule import Rule, Sample, Suppression
from affidavit.yaml_text import load_yaml

DETECTORS = Path("docs/detectors.yaml")
REFERENCE = Path("docs/reference")
_NOTE = "<!-- Written by `make docs`: change its sources, not this file. -->"
# Whole samples are in the rule files; with them the page is larger than code hosts care to show.
_LONGEST_LINE = 240
_DETECTOR_NAMES = {"NMA": "EKS node monitoring agent", "NPD": "node problem detector"}


class DetectorRow(BaseModel):
    """What a live detector watches, and the ids that show it in a bundle, or why none can."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: int
    detector: str
    reason: str
    condition: str = ""
    level: str
    watches: str
    rules: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    not_in_bundle: str = ""


class _Detectors(BaseModel):
    rows: tuple[DetectorRow, ...]


def main(arguments: list[str]) -> Exit:
    if not DETECTORS.is_file() or arguments not in ([], ["--check"]):
        print("usage, in the repository: python -m affidavit.entrypoints.cli.reference [--check]", file=sys.stderr)
        return Exit.REFUSED
    stale = stale_pages(Path())
    for path, content in stale.items():
        print(f"{path} is stale" if arguments else f"{path} written")
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, "utf-8")
    return Exit.FOUND if arguments and stale else Exit.DONE


def stale_pages(root: Path) -> dict[Path, str]:
    """Pages that are not what they would be if written now."""
    return {
        path: content
        for name, content in pages(root).items()
        if not (path := root / REFERENCE / name).is_file() or path.read_text("utf-8") != content
    }


def pages(root: Path) -> dict[str, str]:
    library, checks = open_library(), load_checks()
    return {
        "rules.md": _page(rules_page(library, checks)),
        "detectors.md": _page(detectors_page(detector_rows(root), library, checks)),
        "commands.md": _page(commands_page()),
        "tools.md": _page(tools_page()),
        "settings.md": _page(settings_page()),
    }


def detector_rows(root: Path) -> tuple[DetectorRow, ...]:
    return _Detectors.model_validate(load_yaml((root / DETECTORS).read_text("utf-8"))).rows


def _page(lines: Iterable[str]) -> str:
    """One blank line at most between two others."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join([_NOTE, *lines]).rstrip() + "\n")


def rules_page(library: Library, checks: tuple[Check, ...]) -> Iterator[str]:
    entries: list[Rule | Check] = sorted((*library.pack.rules, *checks), key=lambda entry: entry.id)
    suppressions = library.pack.suppressions
    areas = sorted({_area(entry) for entry in entries})
    yield "# Rules and checks"
    yield ""
    yield f"{len(library.pack.rules)} rules say what a line of a log means; {len(checks)} checks work out numbers from"
    yield f"what commands printed; {len(suppressions)} suppressions explain hits away. [How to write one](../rules.md)."
    yield ""
    for area in areas:
        count = sum(_area(entry) == area for entry in entries)
        yield f"- [{area}](#{_anchor(area)}): {count}"
    yield from ("- [suppressions](#suppressions)", "- [where components write](#where-components-write)")
    for area in areas:
        inside = [entry for entry in entries if _area(entry) == area]
        yield from ("", f"## {area}", "", "| id | severity | name |", "| --- | --- | --- |")
        yield from (f"| [{each.id}](#{_anchor(each.id)}) | {each.severity} | {_cell(each.name)} |" for each in inside)
        for entry in inside:
            yield from _rule(entry, library) if isinstance(entry, Rule) else _check(entry)
    yield from ("", "## Suppressions")
    for suppression in suppressions:
        yield from _suppression(suppression)
    yield from (
        "",
        "## Where components write",
        "",
        "On journal and syslog lines the named program decides whose they are.",
    )
    yield from ("", "| component | files |", "| --- | --- |")
    yield from (f"| {component} | {_codes(globs)} |" for component, globs in component_files().items())


def _rule(rule: Rule, library: Library) -> Iterator[str]:
    yield from _head(rule, "rule")
    yield f"Reads {_places(rule)}."
    yield from _block("Wordings, any of them:", rule.match)
    yield from _block("A line that also matches one of these is no hit:", rule.unless)
    yield from _list("Time and other lines:", [_literal(said) for said in when_it_counts(rule)])
    yield from _list("First steps:", rule.first_steps)
    explained = [suppression.id for suppression in library.suppressions_of(rule)]
    yield from _list("Suppressed by:", [f"[{each}](#{_anchor(each)})" for each in explained])
    yield from _links("Mistaken for:", rule.mistaken_for)
    yield from _block("Fires on:", [_sample(sample) for sample in rule.samples.fires])
    yield from _block("Stays quiet on:", [_sample(sample) for sample in rule.samples.quiet])
    yield from _block("Cleared by:", [_sample(sample) for sample in rule.samples.clears])
    yield from _block("Planned by:", [_sample(sample) for sample in rule.samples.plans])


def _places(rule: Rule) -> str:
    if ANY in rule.reads:
        return "every log"
    if all(entry not in components() for entry in rule.reads):
        return _codes(rule.reads)
    return f"lines of {_codes(rule.reads)} ([their files](#where-components-write))"


def _check(check: Check) -> Iterator[str]:
    yield from _head(check, "check")
    yield f"Computes `{check.compute}` from {_codes(check.reads)}."
    yield from _list("With:", [f"`{name}`: {_codes(_values(value))}" for name, value in check.arguments.items()])
    yield from _list("First steps:", check.first_steps)
    yield from _links("Mistaken for:", check.mistaken_for)
    # One of each: the files of all samples together would make the page too large to be shown.
    fires, quiet = check.samples.fires[0], check.samples.quiet[0]
    places = ", ".join(f"`{place.in_}` line {place.line}" for place in fires.shows)
    yield from _files(f"Shows {places}:", fires.files)
    yield from _files("Stays quiet on:", quiet.files)


def _head(entry: Rule | Check, kind: str) -> Iterator[str]:
    yield from ("", f"### {entry.id}", "")
    yield f"**{_literal(entry.name)}** ({kind}, {entry.severity}, signal `{entry.signal}`). {_literal(entry.means)}"
    yield f"Why {entry.severity}: {_literal(entry.because)}"
    yield ""


def _suppression(suppression: Suppression) -> Iterator[str]:
    yield from ("", f"### {suppression.id}", "", _literal(suppression.reason))
    yield from _links("Explains hits of:", suppression.rules)
    yield from _block("On lines that match:", [suppression.context])
    yield from _block("Explained:", suppression.samples.suppressed)
    yield from _block("Kept:", suppression.samples.kept)


def detectors_page(rows: tuple[DetectorRow, ...], library: Library, checks: tuple[Check, ...]) -> Iterator[str]:
    covered = {shown for row in rows for shown in (*row.rules, *row.checks)}
    beyond = [
        each for each in sorted((*library.pack.rules, *checks), key=lambda each: each.id) if each.id not in covered
    ]
    shown = sum(bool(row.rules or row.checks) for row in rows)
    yield "# Live detectors and what a bundle shows of them"
    yield ""
    yield "Two public programs watch nodes while they run: " + " and ".join(
        f"the {name} ({short})" for short, name in _DETECTOR_NAMES.items()
    )
    yield f"have {len(rows)} detections between them. {shown} show in a log bundle, by the rules and checks named here,"
    yield "some only by what they lead to; where a bundle lacks something it is said. Levels are the detectors' words."
    yield ""
    yield "| row | detector | reason | level | watches | here |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in rows:
        condition = f" (condition {row.condition})" if row.condition else ""
        cells = (f"{row.reason}{condition}", row.level, row.watches, _shown_by(row))
        yield f"| {row.row} | {row.detector} | {' | '.join(_cell(cell) for cell in cells)} |"
    yield ""
    yield f"## Beyond them\n\n{len(beyond)} rules and checks that neither detector has:"
    yield ""
    yield from (f"- {_rule_link(each.id)}: {_literal(each.name)}" for each in beyond)


def _shown_by(row: DetectorRow) -> str:
    links = ", ".join(_rule_link(shown) for shown in (*row.rules, *row.checks))
    if not row.not_in_bundle:
        return links
    return f"{links}; {row.not_in_bundle}" if links else f"not in a bundle: {row.not_in_bundle}"


def commands_page() -> Iterator[str]:
    yield from ("# Commands", "", "What `affidavit COMMAND --help` says, on one page.")
    for name, command in commands().items():
        context = typer.Context(command, info_name=name)
        usage = " ".join((name, *command.collect_usage_pieces(context)))
        yield from ("", f"## {name}", "", "```", usage, "```", "", _literal(command.help or ""))
        records = [record for each in command.params if (record := each.get_help_record(context)) is not None]
        if records:
            yield from ("", "| argument or option | meaning |", "| --- | --- |")
            yield from (f"| `{_cell(_without_type(flag))}` | {_cell(meaning)} |" for flag, meaning in records)
    yield from ("", "## Exit codes", "", *_exit_codes())


def commands() -> dict[str, Any]:
    """Every command by its full name. Typer's own classes, which have no public types."""
    return dict(_commands("affidavit", typer.main.get_command(app)))


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for child, inner in getattr(command, "commands", {}).items():
        yield from _commands(f"{name} {child}", inner)


def _without_type(flag: str) -> str:
    """`BUNDLE <str>` is said twice; `--seed <int>` is not."""
    return flag if flag.startswith("-") else re.sub(r" <.*>$", "", flag)


def _exit_codes() -> Iterator[str]:
    """Each text once, under the first command that has it."""
    seen: set[str] = set()
    for name, command in commands().items():
        if (epilog := " ".join((command.epilog or "").split())) and epilog not in seen:
            seen.add(epilog)
            yield f"- `{name}`: {_literal(epilog.removeprefix('Exit codes: '))}"


def _files(title: str, files: dict[str, str]) -> Iterator[str]:
    for path, text in files.items():
        yield from _block(f"{title} `{path}`", text.rstrip("\n").split("\n"))
        title = "with"


def _block(title: str, lines: Iterable[str]) -> Iterator[str]:
    content = "\n".join(line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…" for line in lines)
    if content:
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", content)), default=0))
        yield from ("", title, "", f"{fence}text", content, fence)


def _list(title: str, items: Iterable[str]) -> Iterator[str]:
    if lines := [f"- {item}" for item in items]:
        yield from ("", title, "", *lines)


def _links(title: str, ids: Iterable[str]) -> Iterator[str]:
    yield from _list(title, [_rule_link(each, page="") for each in ids])


def _rule_link(rule_id: str, *, page: str = "rules.md") -> str:
    return f"[{rule_id}]({page}#{_anchor(rule_id)})"


def _anchor(heading: str) -> str:
    """As GitHub makes it: a dot falls away."""
    return heading.replace(".", "")


def _area(entry: Rule | Check) -> str:
    return entry.id.split(".")[0]


def _sample(sample: Sample) -> str:
    return sample if isinstance(sample, str) else f"{sample.in_}: {sample.line}"


def _values(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]  # a tuple of scalars


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _literal(text: str) -> str:
    """Text that Markdown would take for its own signs."""
    return re.sub(r"([*_<>\[\]|])", r"\\\1", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InputRefused as error:
        sys.exit(f"{error}")
