"""What is stored of an investigation, also when it is huge."""

import json
from pathlib import Path

import pytest
from tests.support.investigations.incidents import REMAINING, Bench, Scripted, a_bench, an_incident, some_tokens

from affidavit.errors import EvidenceUnavailable
from affidavit.incidents.attempt.diagnostician_port import AgentResult, RunOutcome
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.store.reasoning_shortening import shortened
from affidavit.incidents.store.stored_diagnoses import MOST_ITEM_BYTES, context_key
from affidavit.ports.json import JsonValue

ID = IncidentId("inc-1")


def item_of(bench: Bench) -> dict[str, JsonValue]:
    item = bench.contexts._table.get(context_key(ID))
    assert item is not None
    return dict(item)


def test_a_context_has_its_fields_and_outlives_redelivery(bench: Bench) -> None:
    bench.supervisor.receive(an_incident(error_type=""), remaining=REMAINING)
    item = item_of(bench)
    assert {"diagnosis", "reasoning_chain", "token_usage", "llm_calls", "budget_remaining"} <= item.keys()
    assert item["error_type"] == "unknown"
    assert item["ttl"] == int(bench.clock.now().timestamp()) + 30 * 86_400
    assert item["truncated"] is False


def test_a_chain_too_long_for_an_item_is_shortened_there_and_whole_in_the_object_store(tmp_path: Path) -> None:
    bench = a_bench(tmp_path, scripted=Scripted(chain_filler="é" * 60_000))
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    item, context = item_of(bench), bench.contexts.get_context(ID)
    assert len(json.dumps(item).encode()) <= MOST_ITEM_BYTES
    assert context is not None
    assert context.truncated
    assert context.chain_key is not None
    whole = bench.supervisor.records.read(context.chain_key)
    assert isinstance(whole, list)
    assert len(whole) == 5
    assert context.diagnosis is not None


def test_evidence_and_chain_together_never_pass_what_a_table_holds(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    lease = bench.states.write_initial_state(an_incident(), deadline=bench.clock.now() + REMAINING)
    chain = tuple({"role": "assistant", "content": "x" * 200_000} for _ in range(9))
    result = AgentResult(outcome=RunOutcome.DEADLINE, token_usage=some_tokens(), reasoning_chain=chain)
    put = bench.contexts.write_of(lease, result, (), evidence={"logs": "y" * 500_000})
    assert len(json.dumps(put.item).encode()) <= MOST_ITEM_BYTES
    assert put.item["truncated"] is True


def a_turn(number: int, results: int) -> list[dict[str, JsonValue]]:
    calls: list[JsonValue] = [{"id": f"{number}-{index}"} for index in range(results)]
    call: dict[str, JsonValue] = {"role": "assistant", "content": "", "tool_calls": calls}
    return [call, *({"role": "tool", "tool_call_id": f"{number}-{index}"} for index in range(results))]


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("results", [0, 1, 4])
def test_a_shortened_chain_keeps_the_prompt_and_parts_no_call_from_its_result(turns: int, results: int) -> None:
    system: dict[str, JsonValue] = {"role": "system", "content": "be honest"}
    chain = [system, {"role": "user", "content": "alert"}, *(one for n in range(5) for one in a_turn(n, results))]
    short = shortened(chain, turns=turns)
    assert short[0] == system
    called = [call["id"] for one in short for call in one.get("tool_calls", [])]
    answered = [one["tool_call_id"] for one in short if one["role"] == "tool"]
    assert called == answered
    assert short == chain if turns >= 6 else len(short) == 1 + turns * (1 + results)


def test_a_record_that_was_changed_or_removed_is_told(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    context = bench.contexts.get_context(ID)
    assert context is not None
    first, second = context.ledger
    bench.objects.put(first, b'{"forged": true}', purpose="test")
    with pytest.raises(EvidenceUnavailable, match="was changed"):
        bench.supervisor.records.entries([first])
    (tmp_path / "objects" / second).unlink()
    with pytest.raises(EvidenceUnavailable, match="is gone"):
        bench.supervisor.records.entries([second])
