"""Small rule packs for tests of the engine, so that they do not depend on the catalog."""

from typing import Any

from affidavit.rules.pack import RulePack, check_pack
from affidavit.rules.rule import Rule, Suppression


def a_rule(rule_id: str, *match: str, fires: str | None = None, **fields: Any) -> Rule:
    """`fires` is needed when the pattern is not its own sample."""
    samples = {"fires": [fires or text for text in match], "quiet": ["nothing of the kind"]}
    return Rule.model_validate(
        {
            "id": rule_id,
            "name": fields.pop("name", rule_id),
            "means": "This line is here to be found.",
            "severity": "high",
            "because": "The test says so.",
            "signal": "test.signal",
            "reads": ["any"],
            "match": list(match),
            "first_steps": ["Look at the test."],
            "samples": samples,
            **fields,
        }
    )


def a_suppression(suppression_id: str, rules: list[str], context: str, *, suppressed: str, kept: str) -> Suppression:
    return Suppression.model_validate(
        {
            "id": suppression_id,
            "rules": rules,
            "context": context,
            "reason": "The test explains it.",
            "samples": {"suppressed": [suppressed], "kept": [kept]},
        }
    )


def a_pack(*items: Rule | Suppression) -> RulePack:
    rules = {item.id: item for item in items if isinstance(item, Rule)}
    return check_pack(rules, {item.id: item for item in items if isinstance(item, Suppression)})
