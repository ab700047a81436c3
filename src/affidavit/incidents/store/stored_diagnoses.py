"""Stores what an investigation found: the diagnosis, how it was reached, what it cost."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from pydantic import ValidationError

from affidavit.errors import EvidenceUnavailable
from affidavit.evidence.diagnosis import NO_TOKENS, Diagnosis, TokenUsage
from affidavit.incidents.attempt.diagnostician_port import AgentResult
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.reasoning_shortening import TURNS_KEPT, Message, shortened
from affidavit.incidents.store.state import IncidentState, Lease
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Key, Put, Table

MOST_ITEM_BYTES = 350_000


@dataclass(frozen=True, kw_only=True, slots=True)
class IncidentContext:
    """`ledger` and `chain_key` name objects with every tool answer and the whole chain; `evidence` was gathered
    without a chat model, and `best_so_far` is what rules could prove of a run that failed."""

    incident_id: IncidentId
    diagnosis: Diagnosis | None
    best_so_far: Diagnosis | None
    reasoning_chain: tuple[Message, ...]
    truncated: bool
    chain_key: str | None
    ledger: tuple[str, ...]
    token_usage: TokenUsage
    llm_calls: int
    tools_called: tuple[str, ...]
    error_type: str
    outcome: str
    evidence: Mapping[str, JsonValue] | None = None
    gaps: tuple[str, ...] = ()


class IncidentContexts:
    def __init__(
        self, table: Table, records: Records, clock: Clock, *, max_tokens: int, keep: timedelta = timedelta(days=30)
    ) -> None:
        self._table, self._records, self._clock = table, records, clock
        self._max_tokens, self._keep = max_tokens, keep

    def get_context(self, incident_id: IncidentId) -> IncidentContext | None:
        item = self._table.get(context_key(incident_id))
        return None if item is None else _context_of(item)

    def write_of(
        self,
        lease: Lease | IncidentState,
        result: AgentResult,
        ledger: Sequence[str],
        *,
        evidence: Mapping[str, JsonValue] | None = None,
    ) -> Put:
        """The write that stores a result; the caller puts it in one transaction with the transition.

        Long parts are kept as objects before it, so whatever the item names is there.
        """
        if result.diagnosis is not None:
            self._records.keep_diagnosis(lease.incident_id, result.diagnosis)
        chain_key = self._records.keep(lease.incident_id, "chain", list(result.reasoning_chain))
        parts: dict[str, JsonValue] = {
            "pk": context_key(lease.incident_id).pk,
            "sk": "context",
            "incident_id": lease.incident_id,
            "epoch": lease.epoch,
            "outcome": result.outcome.value,
            "error_type": lease.incident.error_type or "unknown",
            "token_usage": result.token_usage.model_dump(),
            "llm_calls": result.llm_calls,
            "tools_called": list(result.tools_called),
            "budget_remaining": max(0, self._max_tokens - result.token_usage.total_tokens),
            "chain_key": chain_key,
            "ledger": list(ledger),
            "gaps": list(result.gaps),
            "ttl": int((self._clock.now() + self._keep).timestamp()),
            **_optional(result, evidence),
        }
        return Put(item=_fitted(parts, result.reasoning_chain), table=self._table)


def context_key(incident_id: IncidentId) -> Key:
    return Key(pk=f"incident#{incident_id}", sk="context")


def _optional(result: AgentResult, evidence: Mapping[str, JsonValue] | None) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    if result.diagnosis is not None:
        found["diagnosis"] = result.diagnosis.model_dump_json()
    if result.best_so_far is not None:
        found["best_so_far"] = result.best_so_far.model_dump_json()
    if evidence is not None:
        found["evidence"] = json.dumps(evidence)
    return found


def _fitted(parts: Mapping[str, JsonValue], chain: Sequence[Message]) -> dict[str, JsonValue]:
    """Over the limit only the newest turns stay in the item, then fewer, then what was gathered goes as well.

    Nothing is lost by it: chain and answers lie whole in the object store.
    """
    whole = _with_chain(parts, chain, truncated=False)
    if _size(whole) <= MOST_ITEM_BYTES:
        return whole
    for turns in range(TURNS_KEPT, -1, -1):
        item = _with_chain(parts, shortened(chain, turns=turns), truncated=True)
        if _size(item) <= MOST_ITEM_BYTES:
            return item
    lean = {name: value for name, value in parts.items() if name not in ("evidence", "best_so_far")}
    return _with_chain(lean, (), truncated=True)


def _with_chain(parts: Mapping[str, JsonValue], chain: Sequence[Message], *, truncated: bool) -> dict[str, JsonValue]:
    return {**parts, "reasoning_chain": json.dumps(list(chain)), "truncated": truncated}


def _size(item: Mapping[str, JsonValue]) -> int:
    return len(json.dumps(item).encode())


def _context_of(item: Mapping[str, JsonValue]) -> IncidentContext:
    evidence, chain_key = item.get("evidence"), item.get("chain_key")
    calls = item.get("llm_calls", 0)
    return IncidentContext(
        incident_id=IncidentId(str(item["incident_id"])),
        diagnosis=_diagnosis(item.get("diagnosis")),
        best_so_far=_diagnosis(item.get("best_so_far")),
        reasoning_chain=tuple(json.loads(str(item.get("reasoning_chain", "[]")))),
        truncated=item.get("truncated") is True,
        chain_key=None if chain_key is None else str(chain_key),
        ledger=_texts(item.get("ledger")),
        token_usage=TokenUsage.model_validate(item.get("token_usage") or NO_TOKENS),
        llm_calls=int(calls) if isinstance(calls, int | float) else 0,
        tools_called=_texts(item.get("tools_called")),
        error_type=str(item.get("error_type", "unknown")),
        outcome=str(item.get("outcome", "")),
        evidence=None if evidence is None else json.loads(str(evidence)),
        gaps=_texts(item.get("gaps")),
    )


def _diagnosis(text: JsonValue) -> Diagnosis | None:
    try:
        return None if text is None else Diagnosis.model_validate_json(str(text))
    except ValidationError as error:
        raise EvidenceUnavailable(
            f"a stored diagnosis cannot be read: {error.errors()[0]['msg']}",
            hint="its record was changed or damaged after it was stored; look for who changed it",
        ) from error


def _texts(value: JsonValue) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, Sequence) and not isinstance(value, str) else ()
