"""Names in lines: which pod, device or unit a finding is about."""

import pytest

from affidavit.rules.entities import (
    NAMES_OF_A_KIND,
    SEARCHED,
    capture_problem,
    check_entities,
    entity_patterns,
    with_captures,
)


def names(line: str) -> dict[str, str]:
    return {entity.kind: entity.name for entity in entity_patterns().names([line])}


def test_the_samples_of_every_kind_hold() -> None:
    check_entities()


def test_a_process_killed_at_its_limit_is_no_victim_of_the_node() -> None:
    line = "[ 8.5] Memory cgroup out of memory: Killed process 18 (java) total-vm:9kB, anon-rss:1kB"
    assert names(line) == {"process": "java"}
    assert names("[ 8.5] Out of memory: Killed process 18 (java) total-vm:9kB") == {"victim": "java"}


def test_a_name_is_told_once_and_a_kind_has_so_many() -> None:
    lines = [f'E0115 "Error syncing pod" pod="prod/api-{number}"' for number in [*range(30), 0]]
    found = entity_patterns().names(lines)
    assert [entity.name for entity in found if entity.kind == "pod"] == [
        f"prod/api-{n}" for n in range(NAMES_OF_A_KIND)
    ]


def test_a_hostile_line_is_searched_only_at_its_beginning() -> None:
    assert names("x" * SEARCHED + ' pod="prod/api-1"') == {}


def test_a_rule_can_add_its_own_names() -> None:
    patterns = with_captures((r"disk (?P<device>[a-z]+) gone",))
    assert [(entity.kind, entity.name) for entity in patterns.names(["disk sda gone"])] == [("device", "sda")]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "cannot be read"),
        ("x", "must name kinds"),
        (r"(?P<colour>x)", "must name kinds"),
        (r"(?P<device>y)", "catches nothing"),
    ],
)
def test_a_capture_that_tells_nothing_is_refused(pattern: str, why: str) -> None:
    assert why in capture_problem(pattern, ["x"])


def test_a_capture_that_names_a_device_of_a_sample_is_accepted() -> None:
    assert capture_problem(r"disk (?P<device>sd[a-z])", ["disk sda gone"]) == ""
