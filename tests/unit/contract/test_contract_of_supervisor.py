"""Records, items, states, errors and numbers of the supervisor, and rows of the state table: as contract.yaml says."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from tests.support.fleet import CLUSTER, NODE, Fleet
from tests.support.investigations.incidents import REMAINING, Scripted, a_bench, an_incident, local_tables
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve
from tests.unit.contract.test_contract_of_tools import CONTRACT

from affidavit.agent.graph import AgentState
from affidavit.agent.limits import Patience
from affidavit.agent.toolbox.mcp_tools import CONNECT_SECONDS, HANDSHAKE_SECONDS
from affidavit.collection.batch import batch_collect
from affidavit.collection.collect import collect
from affidavit.collection.requests import BatchCollectRequest, CollectRequest
from affidavit.evidence import diagnosis
from affidavit.evidence.diagnosis import EvidencePointer, FaultType
from affidavit.incidents.attempt.diagnostician_port import AgentError, ErrorCategory
from affidavit.incidents.store.incident_leases import REASON_CHARACTERS, state_key
from affidavit.incidents.store.state import MOST_ATTEMPTS, Status
from affidavit.incidents.store.stored_diagnoses import MOST_ITEM_BYTES, context_key
from affidavit.nodes.questions.search import search
from affidavit.nodes.wire.search import SearchRequest
from affidavit.ports.json import Item
from affidavit.ports.table import Key, Table
from affidavit.settings import Settings
from affidavit.workloads import wire
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS, TOOL_RESPONSE_SCHEMAS, Answer

RECORDS: dict[str, type[BaseModel]] = {
    name: getattr(diagnosis, name, None) or getattr(wire, name) for name in CONTRACT["records"]
}
DAY_SECONDS = 86_400


def needed_by(record: type[BaseModel]) -> set[str]:
    """Fields without which it cannot be made; an answer may be its error in place of them."""
    if issubclass(record, Answer):
        return set(record.needed)
    return {name for name, field in record.model_fields.items() if field.is_required()}


@pytest.mark.parametrize("name", CONTRACT["records"])
def test_a_record_has_the_fields_of_the_contract_and_demands_those_it_needs(name: str) -> None:
    said, record = CONTRACT["records"][name], RECORDS[name]
    assert {*said["needs"], *said.get("may", ())} <= set(record.model_fields)
    assert set(said["needs"]) <= needed_by(record)
    assert not set(said.get("may", ())) & needed_by(record)
    with pytest.raises(ValidationError):
        record.model_validate({})


@pytest.mark.parametrize("name", CONTRACT["choices"])
def test_a_choice_has_exactly_its_values(name: str) -> None:
    assert sorted(getattr(diagnosis, name)) == sorted(CONTRACT["choices"][name])


def test_every_kind_of_fault_is_known_and_a_pointer_shows_its_value_unless_it_says_otherwise() -> None:
    assert set(CONTRACT["fault_types"]) <= set(FaultType)
    assert EvidencePointer.model_fields["claim"].default == CONTRACT["defaults"]["EvidencePointer.claim"]


def test_there_is_one_schema_a_tool_for_arguments_and_one_for_answers() -> None:
    assert sorted(CONTRACT["tools_of_functions"]) == sorted(TOOL_ARG_SCHEMAS) == sorted(TOOL_RESPONSE_SCHEMAS)
    for schema in TOOL_ARG_SCHEMAS.values():
        assert schema.model_validate({"lambda_name": "x", "made_up": 1}).lambda_name == "x"


def test_the_graph_keeps_its_state_under_these_names() -> None:
    assert set(CONTRACT["graph_state"]) <= set(AgentState.__annotations__)


def test_states_and_their_order_are_those_of_the_contract() -> None:
    assert set(CONTRACT["statuses"]) <= {status.value for status in Status}
    for before, after in CONTRACT["steps"].items():
        assert all(Status(before).may_become(Status(each)) for each in after), before
    assert not any(Status("DIAGNOSED").may_become(Status(each)) for each in ("RECEIVED", "FAILED", "ERROR"))


def items_of(folder: Path, scripted: Scripted) -> tuple[Item, Item]:
    bench = a_bench(folder, scripted=scripted)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    states, contexts = local_tables(folder, bench.clock)
    state, context = (
        states.get(state_key(an_incident().incident_id)),
        contexts.get(context_key(an_incident().incident_id)),
    )
    assert state is not None and context is not None
    kept = bench.clock.now().timestamp() + CONTRACT["numbers"]["item_days"] * DAY_SECONDS
    assert state["ttl"] == context["ttl"] == pytest.approx(kept, abs=5)
    return state, context


def test_items_hold_the_fields_of_the_contract_and_an_error_only_when_there_is_one(tmp_path: Path) -> None:
    fine, context = items_of(tmp_path / "fine", Scripted())
    assert {*CONTRACT["incident_item"]} <= fine.keys() and not {
        *CONTRACT["incident_item_only_with_an_error"]
    } & fine.keys()
    assert {*CONTRACT["context_item"], "diagnosis"} <= context.keys()
    error = AgentError(category=ErrorCategory.BEDROCK_AUTH, message="x" * 2000)
    failed, _ = items_of(tmp_path / "failed", Scripted(error=error))
    assert {*CONTRACT["incident_item_only_with_an_error"]} <= failed.keys() and failed["status"] == "ERROR"
    assert len(str(failed["error_reason"])) == CONTRACT["numbers"]["error_reason_characters"]


def test_the_categories_of_errors_say_whether_to_try_again() -> None:
    assert {category.value: category.is_transient for category in ErrorCategory} == CONTRACT["error_categories"]
    assert str(AgentError(category=ErrorCategory.MCP_INIT, message="no")) == "[mcp_init] no"


def test_the_log_lines_of_a_run_have_their_fields(tmp_path: Path) -> None:
    bench = a_bench(tmp_path)
    bench.supervisor.receive(an_incident(), remaining=REMAINING)
    lines = [json.loads(line) for line in bench.lines]
    for event, fields in CONTRACT["log_lines"].items():
        line = next(line for line in lines if event in line.values())
        assert set(fields) <= line.keys(), event


def test_numbers_are_those_of_the_contract() -> None:
    patience = Patience()
    assert CONTRACT["numbers"] == {
        "recursion_limit": patience.steps,
        "submit_before_seconds": patience.submit_before,
        "corrections": patience.rejections,
        "attempts_at_a_call": patience.attempts,
        "attempts_in_all": MOST_ATTEMPTS,
        "connect_seconds": CONNECT_SECONDS,
        "handshake_seconds": HANDSHAKE_SECONDS,
        "error_reason_characters": REASON_CHARACTERS,
        "context_item_bytes": MOST_ITEM_BYTES,
        "item_days": Settings.model_fields["incident_ttl_days"].default,
    }


def test_settings_have_the_defaults_of_the_contract() -> None:
    defaults = {field.alias: field.default for field in Settings.model_fields.values()}
    assert {name: defaults[name] for name in CONTRACT["settings"]} == CONTRACT["settings"]


# --- rows of the state table -----------------------------------------------------------------------------------------


def rows_left_by_questions(folder: Path) -> tuple[Table, dict[str, str], Any]:
    """After a collection, a batch, a search and a bundle of a cluster: the table, and the names in its keys."""
    fleet = Fleet(folder)
    library = a_library(folder, state=fleet.table)
    began = collect(CollectRequest.model_validate({"instanceId": NODE, "idempotencyToken": "t"}), fleet.desk)
    batch = batch_collect(BatchCollectRequest.model_validate({"clusterName": CLUSTER}), fleet.desk)
    library.clock.at = fleet.clock.at
    shelve(library, folder / "in", {"kubelet/kubelet.log": b"KAPUT\n"}, cluster=CLUSTER)
    found = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT"))
    pattern = "It is kaput"
    names = {"instance": NODE, "token": "t", "execution": began.execution_id, "batch": batch.batch_id}
    return fleet.table, {**names, "cluster": CLUSTER, "pattern": pattern, "search": str(found.search_id)}, fleet.clock


@pytest.mark.parametrize("pk", CONTRACT["state_rows"])
def test_a_row_of_the_state_table_has_its_key_and_counts_as_long_as_the_contract_says(pk: str, tmp_path: Path) -> None:
    said = CONTRACT["state_rows"][pk]
    table, names, clock = rows_left_by_questions(tmp_path)
    row = table.get(Key(pk=pk.format(**names), sk=said["sk"].format(**names)))
    assert row is not None
    expected = (clock.now() + timedelta(hours=said["hours"])).timestamp()
    assert row["ttl"] == pytest.approx(expected, abs=120)
