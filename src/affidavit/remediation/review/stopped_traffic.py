"""Recognises a change that only stops traffic: without traffic there are no errors, but nothing is repaired."""

from affidavit.ports.json import Item
from affidavit.remediation.actions.iam.policy_comparison import statements
from affidavit.remediation.plan.plan_record import Action
from affidavit.remediation.review.source_document_fields import mapping

# What an action leads to, and the value with which nothing runs, passes or is allowed any more.
_STOPS: tuple[tuple[str, object], ...] = (
    ("reserved", 0),
    ("enabled", False),
    ("is_attached", False),
    ("is_there", False),
    ("key_state", "Disabled"),
    ("via", None),
    ("document", None),
)


def stops_traffic(action: Action) -> bool:
    expected = action.expected
    if any(name in expected and _is_same(expected[name], value) for name, value in _STOPS):
        return True
    return _is_denial(expected) or _takes_away_entry(action)


def _is_same(one: object, other: object) -> bool:
    """0 and False are not the same here."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def _is_denial(expected: Item) -> bool:
    """An entry of an ACL that denies, or a policy that allows nothing."""
    if mapping(expected.get("entry")).get("RuleAction") == "deny":
        return True
    document = mapping(expected.get("document"))
    return bool(document) and not any(one.get("Effect") == "Allow" for one in statements(document))


def _takes_away_entry(action: Action) -> bool:
    """Taking away an entry that let packets pass; taking away one that denied is a repair."""
    was = mapping(action.precondition.state.get("entry"))
    return "entry" in action.expected and action.expected["entry"] is None and was.get("RuleAction") == "allow"
