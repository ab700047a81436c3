"""Makes the gathered answers about a function shorter: oldest logs, then policy documents, then the configuration."""

from collections.abc import Mapping, Sequence
from typing import TypeGuard

from affidavit.incidents.attempt.answers_cut_to_budget import Gathered, estimate_tokens
from affidavit.ports.json import JsonValue


def drop_oldest_logs(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
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


def trim_iam_to_sids(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
    iam = context.get("iam")
    if estimate_tokens(context) <= token_budget or not isinstance(iam, Mapping):
        return context, None
    parts = ((name, iam.get(name)) for name in ("inline_policies", "attached_policy_documents"))
    policies = {name: part for name, part in parts if isinstance(part, Mapping)}
    count = sum(_has_statements(document) for part in policies.values() for document in part.values())
    if not count:
        return context, None
    trimmed = {name: _without_documents(part) for name, part in policies.items()}
    return {**context, "iam": {**iam, **trimmed}}, f"reduced {count} policy documents to their statement ids"


def _without_documents(policies: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {
        name: {"StatementSids": _sids(document)} if _has_statements(document) else document
        for name, document in policies.items()
    }


def _has_statements(document: JsonValue) -> bool:
    return isinstance(document, Mapping) and "Statement" in document


def _sids(document: JsonValue) -> list[str]:
    statements = document.get("Statement", ()) if isinstance(document, Mapping) else ()
    # IAM lets a single statement stand without a list.
    several = statements if _is_list(statements) else [statements]
    return [str(one.get("Sid") or "unnamed") if isinstance(one, Mapping) else "unnamed" for one in several]


def drop_lambda_config(context: Gathered, token_budget: int) -> tuple[Gathered, str | None]:
    is_there = isinstance(context.get("lambda_config"), Mapping)
    if estimate_tokens(context) <= token_budget or not is_there:
        return context, None
    return {**context, "lambda_config": {"dropped": True}}, "dropped the configuration"


def _is_list(value: JsonValue) -> TypeGuard[Sequence[JsonValue]]:
    return isinstance(value, Sequence) and not isinstance(value, str)
