"""`affidavit rules`: look at the rules, try them on a line, write your own. Heavy modules are imported on use."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from affidavit.entrypoints.cli.arguments.shared import OwnRules
from affidavit.entrypoints.cli.exit_codes import Exit
from affidavit.entrypoints.cli.locale_safe_output import write_json
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.severity import Severity

if TYPE_CHECKING:
    from affidavit.checks.check import Check
    from affidavit.rules.authoring import RuleLibrary, RuleProblem
    from affidavit.rules.rule import Rule, Sample

EPILOG = """Exit codes: 0 done · 1 something does not hold, or nothing could be imported · 2 the input was refused ·
3 a file could not be written · 4 an error of Affidavit's own · 130 interrupted"""

app = typer.Typer(
    name="rules",
    help="Look at the rules, try them on a line, and write your own.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EPILOG,
)


class ListFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


Out = Annotated[Path, typer.Option(metavar="DIR", help="The folder of your own rules; made when missing.")]


@app.command("list", epilog=EPILOG)
def list_rules(
    rules: OwnRules = None,
    area: Annotated[str | None, typer.Option(help="Only ids that begin with this, such as kernel.")] = None,
    severity: Annotated[Severity, typer.Option(help="Only this severity and above.")] = Severity.INFO,
    form: Annotated[ListFormat, typer.Option("--format", help="How to print the list.")] = ListFormat.TEXT,
) -> None:
    """Every rule about lines and every check of command output: id, severity, name and where it comes from.

    Example: affidavit rules list --area kubelet --severity high
    """
    library = _library(rules)
    known = [
        *(
            _row(library.merged.rules[key], "rule", library.origin(library.merged.rules[key]).value)
            for key in sorted(library.merged.rules)
        ),
        *(_row(check, "check", origin) for check, origin in _checks(rules)),
    ]
    areas = sorted({_area(row) for row in known})
    if area is not None and area not in areas:
        raise InputRefused(f"no rule is in the area {area!r}", hint=f"areas: {', '.join(areas)}")
    shown = [row for row in known if Severity(row["severity"]).is_at_least(severity) and area in (None, _area(row))]
    if form is ListFormat.JSON:
        _print_json(shown)
        return
    width = max((len(row["id"]) for row in shown), default=0)
    for row in shown:
        _say(f"{row['id']:{width}}  {row['severity']:8}  {row['kind']:5}  {row['from']:12}  {row['name']}")
    checks = sum(row["kind"] == "check" for row in shown)
    _say(f"{len(shown) - checks} rules, {checks} checks")


@app.command(epilog=EPILOG)
def show(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="Such as kernel.oom-killer-invoked.")],
    rules: OwnRules = None,
) -> None:
    """All about one rule or check: what it means, where it looks, its wordings and samples, what explains it away.

    Example: affidavit rules show kernel.oom-killer-invoked
    """
    library = _library(rules)
    check = next(((check, origin) for check, origin in _checks(rules) if check.id == rule_id), None)
    if check is not None:
        _show_check(*check)
    else:
        _show_rule(library.rule(rule_id), library)


def _show_check(check: "Check", origin: str) -> None:
    _show_description(check, origin)
    _section("Reads", check.reads)
    arguments = [f"{name} = {value}" for name, value in check.arguments.items()]
    _section("Computes", [check.compute, *arguments])
    _section("First steps", check.first_steps)
    for number, sample in enumerate(check.samples.fires, 1):
        shown = [f"{place.in_}:{place.line}" for place in sample.shows]
        _section(f"Fires on, sample {number} (shows {', '.join(shown)})", _file_lines(sample.files))
    for number, quiet in enumerate(check.samples.quiet, 1):
        _section(f"Stays quiet on, sample {number}", _file_lines(quiet.files))


def _show_description(rule: "Rule | Check", origin: str) -> None:
    _say(f"{rule.id}  {rule.severity}  {rule.name}")
    _say(f"{rule.means}")
    _section("Why this severity", [rule.because])
    _section("From", [f"{origin}, {rule.status}, signal {rule.signal}"])


def _file_lines(files: dict[str, str]) -> list[str]:
    return [line for path, text in files.items() for line in (f"{path}:", *(f"  {row}" for row in text.splitlines()))]


def _show_rule(rule: "Rule", library: "RuleLibrary") -> None:
    from affidavit.rules.authoring import files_read, look_alikes, when_it_counts

    _show_description(rule, library.origin(rule))
    _section("Reads", [f"{', '.join(rule.reads)}:", *files_read(rule)])
    _section("Wordings (RE2)", rule.match)
    _section("Unless", rule.unless)
    _section("Time and other lines", when_it_counts(rule))
    _section("First steps", rule.first_steps)
    _section("Suppressed by", [f"{each.id}: {each.reason}" for each in library.suppressions_of(rule)])
    _section("Look-alikes", [f"{other}  ({why})" for other, why in look_alikes(rule, library.pack).items()])
    samples = rule.samples
    for title, lines in (
        ("Fires on", samples.fires),
        ("Stays quiet on", samples.quiet),
        ("Cleared by", samples.clears),
        ("Planned by", samples.plans),
    ):
        _section(title, [_sample(line) for line in lines])


@app.command("test", epilog=EPILOG)
def test_rules(
    paths: Annotated[
        list[Path] | None, typer.Argument(metavar="DIR|FILE", help="Rules of your own; the built-in ones if none.")
    ] = None,
    line: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Say which rules fire on this line, and why not.")
    ] = None,
    in_: Annotated[
        str | None, typer.Option("--in", metavar="PATH", help="With --line: the file of the bundle that holds it.")
    ] = None,
) -> None:
    """Run the samples of every rule and say which hold; or try the rules on one line.

    Example: affidavit rules test --line "Out of memory: Killed process 7 (java)" --in kernel/dmesg
    """
    from affidavit.rules.authoring import open_library, refuse_broken

    if (line is None) != (in_ is None):
        raise InputRefused("--line and --in go together", hint="--line 'the text' --in kubelet/kubelet.log")
    library = open_library(*(paths or ()))
    if line is not None and in_ is not None:
        raise typer.Exit(_try_line(refuse_broken(library), line, in_))
    raise typer.Exit(_run_samples(library))


@app.command(epilog=EPILOG)
def lint(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of your own rules.")],
) -> None:
    """Load rules of your own and report every problem, not just the first.

    Example: affidavit rules lint my-rules
    """
    from affidavit.rules.authoring import open_library, problems

    if not folder.is_dir():
        raise InputRefused(f"{folder} is not a directory", hint="give a folder of rule files (*.yaml)")
    library = open_library(folder)
    found = problems(library) or _problems_with_checks(folder)
    for problem in found:
        _say_problem(problem)
    own = library.overlay
    count = f"{len(own.rules)} rules, {len(own.suppressions)} suppressions and {len(own.patches)} patch files"
    _say(f"{count}: {f'{len(found)} problems' if found else 'no problem'}")
    raise typer.Exit(Exit.FOUND if found else Exit.DONE)


@app.command(epilog=EPILOG)
def new(
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="area.problem, such as kernel.disk-on-fire.")],
    out: Out,
) -> None:
    """Write the commented skeleton of a rule, to fill in and lint.

    Example: affidavit rules new kernel.disk-on-fire --out my-rules
    """
    from affidavit.rules.authoring import skeleton
    from affidavit.rules.pack import read_catalog

    content = skeleton(rule_id)
    if rule_id in read_catalog().rules:
        hint = "patches.yaml changes fields of a built-in rule; docs/rules.md shows how"
        raise InputRefused(f"{rule_id} is a built-in rule", hint=hint)
    _refuse_existing(out, [f"{rule_id}.yaml"])
    _say(f"{_write(out, f'{rule_id}.yaml', content)}")


@app.command("import", epilog=EPILOG)
def import_rules(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A JSON configuration of the node problem detector.")],
    out: Out,
) -> None:
    """Turn a node problem detector's configuration into rules, one for each pattern, and say what is left.

    A pattern whose lines a built-in rule finds already becomes no rule: it would be reported twice.

    Example: affidavit rules import kernel-monitor.json --out my-rules
    """
    from affidavit.rules.authoring import also_firing
    from affidavit.rules.pack import load_pack
    from affidavit.rules.problem_detector_import import AREA, commented_file, import_detector, rule_file, slug

    pack = load_pack()
    imported = import_detector(_text_of(file), taken_names=[rule.name for rule in pack.rules])
    left_ids = [f"{AREA}.{slug(left.reason)}-{number}" for number, left in enumerate(imported.left, start=1)]
    _refuse_existing(out, [f"{rule.id}.yaml" for rule in imported.rules] + [f"{left}.todo" for left in left_ids])
    found_by = {rule.id: also_firing(rule, pack) for rule in imported.rules}
    new = [rule for rule in imported.rules if not found_by[rule.id]]
    for rule in imported.rules:
        if rule in new:
            _say(f"imported  {_write(out, f'{rule.id}.yaml', rule_file(rule))}")
        else:
            _say(f"known     {rule.name}: found by {', '.join(found_by[rule.id])} already")
    for left, left_id in zip(imported.left, left_ids, strict=True):
        note = f" ({_write(out, f'{left_id}.todo', commented_file(left))})" if left.pattern else ""
        _say(f"left out  {left.reason}: {left.why}{note}")
    _say(f"{len(new)} imported, {len(imported.rules) - len(new)} known already, {len(imported.left)} left out")
    raise typer.Exit(Exit.DONE if imported.rules else Exit.FOUND)


def _library(rules: Path | None) -> "RuleLibrary":
    from affidavit.rules.authoring import open_library, refuse_broken

    if rules is not None and not rules.is_dir():
        raise InputRefused(f"{rules} is not a directory", hint="give --rules a folder of rule files (*.yaml)")
    return refuse_broken(open_library(rules)) if rules is not None else open_library()


def _checks(rules: Path | None) -> "list[tuple[Check, str]]":
    """The checks, each with where it comes from."""
    from affidavit.knowledge import load_knowledge

    built_in = {check.id: check for check in load_knowledge().checks}
    checks = load_knowledge(rules).checks if rules is not None else tuple(built_in.values())
    return [(check, "built-in" if built_in.get(check.id) == check else "overlay") for check in checks]


def _problems_with_checks(folder: Path) -> "list[RuleProblem]":
    """Further problems that stop `analyze --rules`: bad checks, or names that rules and checks share."""
    from affidavit.knowledge import load_knowledge
    from affidavit.rules.authoring import RuleProblem

    try:
        load_knowledge(folder)
    except InputRefused as error:
        return [RuleProblem(about="", error=error)]
    return []


def _row(rule: "Rule | Check", kind: str, origin: str) -> dict[str, str]:
    fields = rule.model_dump(mode="json", include={"id", "severity", "name", "status", "signal", "reads", "means"})
    return {**fields, "kind": kind, "from": origin}


def _area(row: dict[str, str]) -> str:
    return row["id"].split(".")[0]


def _try_line(library: "RuleLibrary", line: str, path: str) -> Exit:
    from affidavit.bundle.file_roles import component_of, role_of
    from affidavit.rules.authoring import judge_line

    role = role_of(path)
    _say(f"{path}: {role.kind}, a line of {component_of(line.encode(), role)}")
    found = judge_line(line, path, library.pack)
    for each in found:
        why = f": {each.why}" if each.why else ""
        _say(f"{each.verdict:16} {each.rule.id}  {each.rule.severity}  {each.rule.name}{why}")
    if not found:
        _say("no rule has a wording for this line")
    return Exit.DONE


def _run_samples(library: "RuleLibrary") -> Exit:
    from affidavit.rules.authoring import problems, touched_rules

    found = problems(library, style=False)
    broken = {problem.about for problem in found}
    for rule in touched_rules(library):
        count = f"{len(rule.samples.fires)} fire, {len(rule.samples.quiet)} stay quiet"
        _say(f"{'BROKEN' if rule.id in broken else 'holds '} {rule.id}  {count}")
        for problem in found:
            if problem.about == rule.id:
                _say(f"       {problem.error}")
    shown = {rule.id for rule in touched_rules(library)}
    for problem in found:
        if problem.about not in shown:
            _say_problem(problem)
    _say(f"{len(shown)} rules tried, {len(broken & shown)} broken, {len(found)} problems")
    return Exit.FOUND if found else Exit.DONE


def _say_problem(problem: "RuleProblem") -> None:
    about = f"{problem.about}: " if problem.about and problem.about not in str(problem.error) else ""
    hint = f" ({problem.error.hint})" if problem.error.hint else ""
    _say(f"BROKEN {about}{problem.error}{hint}")


def _refuse_existing(out: Path, names: list[str]) -> None:
    """Refuses to overwrite a file, because its author may have changed it."""
    for path in (_place(out, name) for name in names):
        if path.exists():
            raise InputRefused(f"{path} exists already", hint="choose another --out, or remove it first")


def _write(out: Path, name: str, content: str) -> Path:
    path = _place(out, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")
    except OSError as error:
        raise EvidenceUnavailable(f"{path} cannot be written: {error.strerror}", hint="choose another --out") from error
    return path


def _place(out: Path, name: str) -> Path:
    """`kernel.disk-on-fire.yaml` lies at `kernel/disk-on-fire.yaml`."""
    return out.joinpath(*name.split(".", 1))


def _text_of(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputRefused(f"{file} cannot be read: {error}", hint="give a JSON file") from error


def _sample(sample: "Sample") -> str:
    return sample if isinstance(sample, str) else f"{sample.in_}: {sample.line}"


def _section(title: str, lines: "list[str] | tuple[str, ...]") -> None:
    if lines:
        _say("")
        _say(title)
        for line in lines:
            _say(f"  {line}")


def _say(line: str) -> None:
    from affidavit.entrypoints.report.terminal_escapes_and_colours import harmless

    typer.echo(harmless(line))


def _print_json(content: object) -> None:
    import json

    write_json(f"{json.dumps(content, indent=2, ensure_ascii=False)}\n".encode())
