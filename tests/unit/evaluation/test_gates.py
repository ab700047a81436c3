"""Gates hold, fail, and never pass a number that is not there."""

from pathlib import Path

import pytest

from affidavit.errors import InputRefused
from affidavit.evaluation.gates import check_gates, load_gates


@pytest.mark.parametrize(("value", "holds"), [(0.98, True), (1.0, True), (0.9799, False), (None, False)])
def test_a_lower_bound_needs_a_number_that_reaches_it(value: float | None, holds: bool) -> None:
    results = check_gates(load_gates(), {"nodes.finding_recall": value}, ("nodes",))
    assert {gate.name: gate.holds for gate in results}["nodes.finding_recall"] is holds


def test_gates_of_other_parts_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "gates.yaml"
    file.write_text("nodes.notes: {at_most: 3}\nincidents.accuracy: {at_least: 1}\n")
    results = check_gates(load_gates(file), {"nodes.notes": 4.0}, ("nodes",))
    assert [(gate.name, gate.holds) for gate in results] == [("nodes.notes", False)]


@pytest.mark.parametrize("text", ["nodes.notes: {}", "notes: {at_most: 1}", "[1, 2]", "nodes.notes: {at_mots: 1}"])
def test_a_file_that_holds_no_gates_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "gates.yaml").write_text(text)
    with pytest.raises(InputRefused, match="holds no gates"):
        load_gates(tmp_path / "gates.yaml")
