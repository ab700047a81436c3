"""Fits tool answers into a token budget, the least useful part first. The originals stay in the ledger."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from affidavit.ports.json import JsonValue

Gathered = Mapping[str, JsonValue]
"""Tool answers by the name of their part; any part may be missing or be an error."""
Shrink = Callable[[Gathered, int], tuple[Gathered, str | None]]
"""Makes one part shorter and says what it did; under budget, or without its part, it does nothing and says None."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """`details` says what was done, in order; empty when everything fitted."""

    context: Gathered
    details: tuple[str, ...]
    metrics: Mapping[str, JsonValue]


def estimate_tokens(context: Mapping[str, object]) -> int:
    """A quarter of the JSON's length; dates become text."""
    return 0 if not context else len(json.dumps(context, default=str)) // 4


def truncate_to_budget(context: Gathered, token_budget: int, shrinks: Sequence[Shrink]) -> Fitted:
    """Apply `shrinks` in order until it fits. A budget of 0 or less means no limit."""
    raw_sizes = {name: estimate_tokens({name: part}) for name, part in context.items()}
    details: list[str] = []
    if token_budget > 0:
        for shrink in shrinks:
            context, done = shrink(context, token_budget)
            details += [done] if done else []
    metrics = _compute_metrics(raw_sizes, token_budget, estimate_tokens(context), details)
    return Fitted(context=context, details=tuple(details), metrics=metrics)


def _compute_metrics(
    raw_sizes: Mapping[str, int], token_budget: int, final_tokens: int, details: Sequence[str]
) -> dict[str, JsonValue]:
    raw = sum(raw_sizes.values())
    return {
        "raw_sizes": dict(raw_sizes),
        "raw_tokens": raw,
        "token_budget": token_budget,
        "final_tokens": final_tokens,
        "was_truncated": bool(details),
        "is_within_budget": token_budget <= 0 or final_tokens <= token_budget,
        "details": list(details),
    }
