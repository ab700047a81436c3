"""Writes the truth about a generated bundle as a scenario file for `affidavit eval nodes --scenarios`."""

from pathlib import Path
from typing import Any

import yaml

from affidavit.evaluation.generator import GeneratedBundle, Problem


def truth_name(bundle: GeneratedBundle) -> str:
    faults = "-".join(fault.replace("_", "-") for fault in bundle.spec.faults) or "healthy"
    return f"{bundle.spec.layout.value.replace('_', '-')}-{faults}-{bundle.spec.seed}.yaml"


def truth_text(bundle: GeneratedBundle, path: Path) -> str:
    """`path` is the bundle on disk. Put the file in the same folder."""
    scenario = {
        "family": "sample",
        "tells": f"made by `affidavit sample`: {', '.join(bundle.spec.faults) or 'nothing is broken'}",
        "layout": bundle.spec.layout.value,
        "bundle": path.name,
        "problems": [_problem(problem) for problem in bundle.truth.problems],
    }
    return yaml.safe_dump(scenario, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _problem(problem: Problem) -> dict[str, Any]:
    told: dict[str, Any] = {
        "file": problem.file,
        "severity": problem.severity,
        "lines": list(problem.lines),
        "count": problem.count,
        "text": problem.text,
        "context": list(problem.context),
        "any_line": problem.any_line,
    }
    return {name: value for name, value in told.items() if value not in ([], False)}
