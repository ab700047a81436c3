"""`docs/reference/rules.md`: every rule, check and suppression with its samples."""

from collections.abc import Iterator

from affidavit.bundle.file_roles import ANY, components
from affidavit.checks.check import Check
from affidavit.entrypoints.cli.reference.markup import anchor, block, bullets, cell, codes, literal, rule_links
from affidavit.rules.authoring import RuleLibrary, component_files, when_it_counts
from affidavit.rules.rule import Rule, Sample, Suppression


def rules_page(library: RuleLibrary, checks: tuple[Check, ...]) -> Iterator[str]:
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
        yield f"- [{area}](#{anchor(area)}): {count}"
    yield from ("- [suppressions](#suppressions)", "- [where components write](#where-components-write)")
    for area in areas:
        inside = [entry for entry in entries if _area(entry) == area]
        yield from ("", f"## {area}", "", "| id | severity | name |", "| --- | --- | --- |")
        yield from (f"| [{each.id}](#{anchor(each.id)}) | {each.severity} | {cell(each.name)} |" for each in inside)
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
    yield from (f"| {component} | {codes(globs)} |" for component, globs in component_files().items())


def _rule(rule: Rule, library: RuleLibrary) -> Iterator[str]:
    yield from _head(rule, "rule")
    yield f"Reads {_places(rule)}."
    yield from block("Wordings, any of them:", rule.match)
    yield from block("A line that also matches one of these is no hit:", rule.unless)
    yield from bullets("Time and other lines:", [literal(said) for said in when_it_counts(rule)])
    yield from bullets("First steps:", rule.first_steps)
    explained = [suppression.id for suppression in library.suppressions_of(rule)]
    yield from bullets("Suppressed by:", [f"[{each}](#{anchor(each)})" for each in explained])
    yield from rule_links("Mistaken for:", rule.mistaken_for)
    yield from block("Fires on:", [_sample(sample) for sample in rule.samples.fires])
    yield from block("Stays quiet on:", [_sample(sample) for sample in rule.samples.quiet])
    yield from block("Cleared by:", [_sample(sample) for sample in rule.samples.clears])
    yield from block("Planned by:", [_sample(sample) for sample in rule.samples.plans])


def _places(rule: Rule) -> str:
    if ANY in rule.reads:
        return "every log"
    if all(entry not in components() for entry in rule.reads):
        return codes(rule.reads)
    return f"lines of {codes(rule.reads)} ([their files](#where-components-write))"


def _check(check: Check) -> Iterator[str]:
    yield from _head(check, "check")
    yield f"Computes `{check.compute}` from {codes(check.reads)}."
    yield from bullets("With:", [f"`{name}`: {codes(_values(value))}" for name, value in check.arguments.items()])
    yield from bullets("First steps:", check.first_steps)
    yield from rule_links("Mistaken for:", check.mistaken_for)
    # One of each: the files of all samples together would make the page too large to be shown.
    fires, quiet = check.samples.fires[0], check.samples.quiet[0]
    places = ", ".join(f"`{place.in_}` line {place.line}" for place in fires.shows)
    yield from _files(f"Shows {places}:", fires.files)
    yield from _files("Stays quiet on:", quiet.files)


def _head(entry: Rule | Check, kind: str) -> Iterator[str]:
    yield from ("", f"### {entry.id}", "")
    yield f"**{literal(entry.name)}** ({kind}, {entry.severity}, signal `{entry.signal}`). {literal(entry.means)}"
    yield f"Why {entry.severity}: {literal(entry.because)}"
    yield ""


def _suppression(suppression: Suppression) -> Iterator[str]:
    yield from ("", f"### {suppression.id}", "", literal(suppression.reason))
    yield from rule_links("Explains hits of:", suppression.rules)
    yield from block("On lines that match:", [suppression.context])
    yield from block("Explained:", suppression.samples.suppressed)
    yield from block("Kept:", suppression.samples.kept)


def _files(title: str, files: dict[str, str]) -> Iterator[str]:
    for path, text in files.items():
        yield from block(f"{title} `{path}`", text.rstrip("\n").split("\n"))
        title = "with"


def _area(entry: Rule | Check) -> str:
    return entry.id.split(".")[0]


def _sample(sample: Sample) -> str:
    return sample if isinstance(sample, str) else f"{sample.in_}: {sample.line}"


def _values(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, tuple) else [str(value)]  # pyright: ignore[reportUnknownArgumentType,reportUnknownVariableType]  # a tuple of scalars
