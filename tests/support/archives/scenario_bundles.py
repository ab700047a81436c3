"""Bundles of built-in scenarios, one for each layout, as archives in a folder."""

from dataclasses import replace
from pathlib import Path

from affidavit.evaluation.generator import generate, write
from affidavit.evaluation.nodes.scenario import Scenario, load_scenarios

ONE_OF_EACH_LAYOUT = (
    "mixed-memory-network",  # al2
    "cni-failure",  # al2023
    "mixed-disk",  # ubuntu
    "pressure",  # node_diagnostic
    "oom-bottlerocket",  # bottlerocket
    "mixed-everything",  # bottlerocket_nested
    "windows-layers",  # windows
)
NODES = {name: f"i-0c0ffee000000{number:03x}" for number, name in enumerate(ONE_OF_EACH_LAYOUT, start=1)}


def write_scenarios(folder: Path) -> dict[str, Path]:
    """By scenario. Each node has an id of its own."""
    scenarios = {scenario.id: scenario for scenario in load_scenarios() if scenario.id in NODES}
    return {name: _written(folder, scenarios[name], NODES[name]) for name in NODES}


def _written(folder: Path, scenario: Scenario, instance_id: str) -> Path:
    """Some collectors do not name the node, neither inside nor in the archive's name: then its uploader has to."""
    spec = replace(scenario.spec(), instance_id=instance_id, noise_lines=60)
    made = write(generate(spec), folder / ".made", scenario.form)
    return made.rename(folder / f"{instance_id}_{made.name}")
