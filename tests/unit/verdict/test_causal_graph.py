"""The causal graph: every rule has a place in it, and a wrong entry is refused when it is loaded."""

import pytest

from affidavit.errors import InputRefused
from affidavit.evidence.severity import Severity
from affidavit.knowledge import load_knowledge
from affidavit.verdict.causal_graph import checked_graph, load_graph
from affidavit.verdict.graph_sample_checks import check_graph, known_graph
from affidavit.verdict.node_condition import Condition


def condition(**changes: object) -> Condition:
    given: dict[str, object] = {
        "id": "thing",
        "name": "A thing broke",
        "fault_type": "node_disk",
        "shown_by": ["storage.disk-full"],
    }
    return Condition.model_validate({**given, **changes})


def test_the_built_in_graph_holds_its_samples() -> None:
    graph = known_graph()
    assert sum(len(each.samples) for each in graph.conditions.values()) >= 25


def test_every_rule_of_medium_or_above_shows_a_condition() -> None:
    graph = load_graph()
    signs = {sign for each in graph.conditions.values() for sign in each.signs}
    lost = [
        rule.id
        for rule in load_knowledge().rules
        if rule.severity.is_at_least(Severity.MEDIUM) and rule.id not in signs and rule.signal not in signs
    ]
    assert lost == []


def test_every_effect_says_where_its_cause_would_stand() -> None:
    assert [each.id for each in load_graph().conditions.values() if not each.look_in] == []


def test_an_edge_to_nowhere_is_refused() -> None:
    bad = condition(causes=[{"effect": "nowhere", "how": "It leads to nowhere."}])
    with pytest.raises(InputRefused, match="thing is said to cause nowhere"):
        checked_graph([bad])


def test_an_id_given_twice_is_refused() -> None:
    with pytest.raises(InputRefused, match="thing twice"):
        checked_graph([condition(), condition()])


def test_a_sign_that_no_rule_is_is_refused() -> None:
    with pytest.raises(InputRefused, match=r"storage\.gone"):
        check_graph(checked_graph([condition(shown_by=["storage.gone"])]))


def test_a_witness_that_no_rule_is_is_refused() -> None:
    with pytest.raises(InputRefused, match=r"storage\.gone"):
        check_graph(checked_graph([condition(shown_by=[{"by": "storage.disk-full", "when_seen": ["storage.gone"]}])]))


def test_a_sample_that_leads_with_something_else_is_refused() -> None:
    bad = condition(samples=[{"seen": ["storage.disk-full"], "leads": []}])
    with pytest.raises(InputRefused, match="the causes are thing, not none"):
        check_graph(checked_graph([bad]))


def test_a_way_through_an_unseen_cause_does_not_count() -> None:
    """A cause in between would have been seen itself; an effect may have been quiet."""
    graph = load_graph()
    for name in graph.conditions:
        for path in graph.paths_from(name):
            assert all(graph.conditions[step].role == "effect" for step in path.through)
            assert len(path.through) <= 1
