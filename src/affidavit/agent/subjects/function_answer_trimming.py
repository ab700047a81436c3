"""Fitting tool answers into a token budget, the least useful part first. The originals stay in the ledger."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeGuard

from affidavit.ports import JsonValue

Gathered = Mapping[str, JsonValue]
"""Tool answers under `logs`, `iam`, `lambda_config`, `network`; any part may be missing or be an error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """`details` says what was done, in order; empty when everything fitted."""

    context: Gathered
    details: tuple[str, ...]
    metrics: Mapping[str, JsonValue]


def estimate_tokens(context: Mapping[str, object]) -> int:
    """A quarter of the JSON's length; dates become text."""
    return 0 if not context else len(json.dumps(context, default=str)) // 4


def truncate_to_budget(context: Gathered, token_budget: int) -> Fitted:
    """Drop the oldest logs, then policy documents, then the configuration. A budget of 0 or less means no limit."""
    raw_sizes = {name: estimate_tokens({name: part}) for name, part in context.items()}
    details: list[str] = []
    if token_budget > 0:
        for shrink in (_drop_oldest_logs, _trim_iam_to_sids, _drop_lambda_config):
            context, done = shrink(context, token_budget)
            details += [done] if done else []
    metrics = _compute_metrics(raw_sizes, token_budget, estimate_tokens(context), details)
    return Fitted(context=context, details=tuple(details), metrics=metrics)


def _drop_oldest_logs(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
    logs = context.get("logs")
    events = logs.get("events") if isinstance(logs, Mapping) else None
    if estimate_tokens(context) <= token_budget or not isinstance(logs, Mapping) or not _is_list(events) or not events:
        return context, None
    kept = _most_that_fit(context, logs, events, token_budget)
    dropped = len(events) - kept
    return _with_events(
        context, logs, events[:kept], dropped
    ), f"dropped the {dropped} oldest of {len(events)} log events"


def _most_that_fit(context: Gathered, logs: Gathered, events: Sequence[JsonValue], token_budget: int) -> int:
    """Events are newest first, so the end goes."""
    low, high = 0, len(events)
    while low < high:
        middle = (low + high + 1) // 2
        shorter = _with_events(context, logs, events[:middle], len(events) - middle)
        low, high = (middle, high) if estimate_tokens(shorter) <= token_budget else (low, middle - 1)
    return low


def _with_events(context: Gathered, logs: Gathered, events: Sequence[JsonValue], dropped: int) -> Gathered:
    # Whoever reads the rest must not take it for everything.
    shorter = {**logs, "events": list(events), "is_complete": False, "dropped_events": dropped}
    return {**context, "logs": shorter}


def _trim_iam_to_sids(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
    iam = context.get("iam")
    if estimate_tokens(context) <= token_budget or not isinstance(iam, Mapping):
        return context, None
    parts = ((name, iam.get(name)) for name in ("inline_policies", "attached_policy_documents"))
    trimmed = {name: _without_documents(part) for name, part in parts if isinstance(part, Mapping) and part}
    if not trimmed:
        return context, None
    count = sum(len(part) for part in trimmed.values())
    return {**context, "iam": {**iam, **trimmed}}, f"reduced {count} policy documents to their statement ids"


def _without_documents(policies: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: {"StatementSids": _sids(document)} for name, document in policies.items()}


def _sids(document: JsonValue) -> list[str]:
    statements = document.get("Statement", ()) if isinstance(document, Mapping) else ()
    # IAM lets a single statement stand without a list.
    several = statements if _is_list(statements) else [statements]
    return [str(one.get("Sid") or "unnamed") if isinstance(one, Mapping) else "unnamed" for one in several]


def _drop_lambda_config(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
    is_there = isinstance(context.get("lambda_config"), Mapping)
    if estimate_tokens(context) <= token_budget or not is_there:
        return context, None
    return {**context, "lambda_config": {"dropped": True}}, "dropped the configuration"


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


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
