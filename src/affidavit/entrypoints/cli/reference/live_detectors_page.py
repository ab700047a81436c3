"""`docs/reference/detectors.md`: what live detectors watch, and what a bundle shows of it."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from affidavit.checks.check import Check
from affidavit.entrypoints.cli.reference.markup import cell, literal, rule_link
from affidavit.rules.authoring import RuleLibrary
from affidavit.yaml_loading import load_yaml

DETECTORS = Path("docs/detectors.yaml")
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


def detector_rows(root: Path) -> tuple[DetectorRow, ...]:
    return _Detectors.model_validate(load_yaml((root / DETECTORS).read_text("utf-8"))).rows


def detectors_page(rows: tuple[DetectorRow, ...], library: RuleLibrary, checks: tuple[Check, ...]) -> Iterator[str]:
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
        yield f"| {row.row} | {row.detector} | {' | '.join(cell(each) for each in cells)} |"
    yield ""
    yield f"## Beyond them\n\n{len(beyond)} rules and checks that neither detector has:"
    yield ""
    yield from (f"- {rule_link(each.id)}: {literal(each.name)}" for each in beyond)


def _shown_by(row: DetectorRow) -> str:
    links = ", ".join(rule_link(shown) for shown in (*row.rules, *row.checks))
    if not row.not_in_bundle:
        return links
    return f"{links}; {row.not_in_bundle}" if links else f"not in a bundle: {row.not_in_bundle}"
