"""Two states compared: what differs is told with its place, and what nobody read is never called equal."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from affidavit.known_good.state_differences import DifferenceKind, compare

RULE: dict[str, Any] = {"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}
GOOD: dict[str, Any] = {
    "format": 1,
    "function": "arn:aws:lambda:ca-central-1:000000000000:function:f",
    "not_read": [],
    "concurrency": {"reserved": None},
    "permissions": {"inline_policies": {"s3/read": {"Statement": [{"Sid": "A"}, {"Sid": "B"}]}}},
    "network": {"security_groups": {"sg-1": {"egress": [RULE]}}},
}


def changed(**sections: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(GOOD)), **sections}


def told(now: dict[str, Any]) -> list[tuple[str, str, Any, Any]]:
    return [(one.kind.value, one.path, one.was, one.now) for one in compare(GOOD, now).differences]


def test_equal_states_have_no_differences() -> None:
    assert compare(GOOD, changed()).differences == ()


def test_a_reservation_of_0_differs_from_none() -> None:
    assert told(changed(concurrency={"reserved": 0})) == [("changed", "/concurrency/reserved", None, 0)]


def test_true_is_not_1() -> None:
    was, now = changed(concurrency={"reserved": 1}), changed(concurrency={"reserved": True})
    assert len(compare(was, now).differences) == 1


def test_a_removed_rule_is_told_as_the_rule() -> None:
    now = changed(network={"security_groups": {"sg-1": {"egress": []}}})
    assert told(now) == [("removed", "/network/security_groups/sg-1/egress", RULE, None)]


def test_a_removed_statement_is_told_and_names_with_slashes_are_escaped() -> None:
    now = changed(permissions={"inline_policies": {"s3/read": {"Statement": [{"Sid": "B"}]}}})
    path = "/permissions/inline_policies/s3~1read/Statement"
    assert told(now) == [("removed", path, {"Sid": "A"}, None)]


def test_a_policy_that_is_gone_is_removed_with_its_document() -> None:
    now = changed(permissions={"inline_policies": {}})
    gone = GOOD["permissions"]["inline_policies"]["s3/read"]
    assert told(now) == [("removed", "/permissions/inline_policies/s3~1read", gone, None)]


def test_what_could_not_be_read_is_not_compared_and_is_said_so() -> None:
    now = changed(not_read=["/network/security_groups"])
    del now["network"]
    found = compare(GOOD, now)
    assert found.differences == () and found.not_compared == ("/network/security_groups",)


def test_an_unread_part_hides_no_difference_beside_it() -> None:
    now = changed(not_read=["/network/security_groups"], concurrency={"reserved": 5}, network={})
    assert [one.path for one in compare(GOOD, now).differences] == ["/concurrency/reserved"]


LEAVES = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab/~", max_size=3)
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/~"), inner))
STATES = st.fixed_dictionaries({"concurrency": st.dictionaries(st.sampled_from("xyz"), VALUES)})


@given(STATES, STATES)
def test_there_is_a_difference_exactly_when_the_states_differ(was: dict[str, Any], now: dict[str, Any]) -> None:
    same = json.dumps(was, sort_keys=True) == json.dumps(now, sort_keys=True)
    assert bool(compare(was, now).differences) != same


@given(STATES, STATES)
def test_the_way_back_has_the_opposite_differences(was: dict[str, Any], now: dict[str, Any]) -> None:
    there, back = compare(was, now).differences, compare(now, was).differences
    opposite = {
        DifferenceKind.ADDED: DifferenceKind.REMOVED,
        DifferenceKind.REMOVED: DifferenceKind.ADDED,
        DifferenceKind.CHANGED: DifferenceKind.CHANGED,
    }
    assert sorted((one.path, opposite[one.kind]) for one in there) == sorted((one.path, one.kind) for one in back)
