"""Who changed what: which names are looked up, what is left out, and when an answer may be called complete."""

from typing import Any

import pytest
from tests.support.investigations.workload_scenarios import SCENARIOS as ALL

from affidavit.errors import UpstreamFailed
from affidavit.evaluation.incidents.scripted_aws_account import AccountState, ScriptedInspector
from affidavit.evaluation.incidents.workload_scenarios import NOW, WorkloadScenario, patched
from affidavit.ports.workload_inspector import TrailLookup, TrailPage
from affidavit.workloads.recent_changes import EVENTS_AT_MOST, LOOKUPS_AT_MOST, recent_changes

ALINA = "arn:aws:iam::123456789012:user/alina"


def inspected(base: str = "healthy-single-datapoint", **account: Any) -> ScriptedInspector:
    scenario: WorkloadScenario = ALL[base]
    state = AccountState.model_validate(patched(scenario.account.model_dump(mode="json"), account))
    return ScriptedInspector(state=state, lines=(), now=NOW)


def event(name: str = "PutRolePolicy", *, ago: str = "30m", on: str = "data-processor-role", **more: Any) -> Any:
    given = {"event_name": name, "ago": ago, "resources": [on], "event_source": "iam.amazonaws.com", "by": ALINA}
    return given | more


def asked(inspector: ScriptedInspector, hours: int = 24) -> Any:
    return recent_changes(inspector, "data-processor", now=NOW, hours=hours).model_dump(mode="json")


def test_a_change_says_who_what_when_and_on_which_of_its_parts() -> None:
    (change,) = asked(inspected(trail=[event(request={"policyName": "read-input"})]))["changes"]
    assert (change["principal"], change["event_name"], change["resource"]) == (
        ALINA,
        "PutRolePolicy",
        "data-processor-role",
    )
    assert (change["time"], change["request"], change["read_only"]) == (
        "2026-03-03T09:45:00Z",
        {"policyName": "read-input"},
        False,
    )


@pytest.mark.parametrize("left_out", [{"read_only": True}, {"error_code": "AccessDenied"}, {"ago": "25h"}])
def test_reads_failed_calls_and_old_ones_are_left_out(left_out: dict[str, Any]) -> None:
    assert asked(inspected(trail=[event(**left_out)]))["changes"] == []


@pytest.mark.parametrize(
    "name",
    [
        "data-processor",
        "arn:aws:lambda:ca-central-1:123456789012:function:data-processor",
        "data-processor-role",
        "acme-ingest",
        "sg-05e1f7c2",
        "3f0c6e1a-mapping",
    ],
)
def test_everything_that_the_function_needs_is_looked_up(name: str) -> None:
    mapping = [{"UUID": "3f0c6e1a-mapping", "EventSourceArn": "arn:aws:sqs:ca-central-1:123456789012:in"}]
    here = inspected("network-egress-removed", trail=[event("AnyCall", on=name)], event_sources=mapping)
    assert [change["resource"] for change in asked(here)["changes"]] == [name]


def test_acls_and_routes_of_its_subnets_are_looked_up() -> None:
    state = ALL["network-egress-removed"].workloads().answer("get_network_state", {"lambda_name": "data-processor"})
    subnet = state["subnets"][0]  # type: ignore[index, call-overload] - JSON
    for name in (subnet["nacl_id"], subnet["route_table_id"]):  # type: ignore[index, call-overload] - JSON
        here = inspected("network-egress-removed", trail=[event("AnyCall", on=str(name))])
        assert [change["resource"] for change in asked(here)["changes"]] == [name]


def test_a_call_known_by_two_names_is_listed_once() -> None:
    both = event("UpdateFunctionCode20150331v2")
    both["resources"] = ["data-processor", "arn:aws:lambda:ca-central-1:123456789012:function:data-processor"]
    assert len(asked(inspected(trail=[both]))["changes"]) == 1


def test_values_of_variables_are_left_out_and_policies_are_decoded() -> None:
    request = {
        "environment": {"variables": {"DB_PASSWORD": "hunter2"}},
        "policyDocument": '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:GetObject"}]}',
        "description": "x" * 5000,
    }
    (change,) = asked(inspected(trail=[event(request=request)]))["changes"]
    assert "hunter2" not in str(change)
    assert change["request"]["policyDocument"]["Statement"][0]["Action"] == "s3:GetObject"
    assert len(change["request"]["description"]) == 2001


def test_the_window_ends_where_cloudtrail_has_surely_delivered() -> None:
    answer = asked(inspected(), hours=2)
    assert answer["window"] == {"start": "2026-03-03T08:15:00.000Z", "end": "2026-03-03T10:00:00.000Z"}
    assert answer["is_complete"] is True


def test_more_events_than_are_read_make_the_answer_incomplete() -> None:
    many = [event(ago=f"{60 + number}s") for number in range(EVENTS_AT_MOST + 1)]
    answer = asked(inspected(trail=many))
    assert answer["is_complete"] is False
    assert any("older changes" in part["what"] for part in answer["not_read"])


def test_names_beyond_what_is_looked_up_are_told() -> None:
    sources = [{"UUID": f"mapping-{number}"} for number in range(LOOKUPS_AT_MOST)]
    answer = asked(inspected(event_sources=sources))
    assert answer["is_complete"] is False
    assert any(part["what"] == f"changes of mapping-{LOOKUPS_AT_MOST - 1}" for part in answer["not_read"])


def test_one_lookup_that_fails_is_a_gap_and_the_rest_answers() -> None:
    class Throttling(ScriptedInspector):
        def trail(self, lookup: TrailLookup, *, start: int, end: int, limit: int) -> TrailPage:
            if lookup.is_global:
                raise UpstreamFailed("AWS asked us to slow down")
            return super().trail(lookup, start=start, end=end, limit=limit)

    whole = inspected(trail=[event("UpdateFunctionCode20150331v2", on="data-processor")])
    answer = asked(Throttling(state=whole.state, lines=(), now=NOW))
    assert len(answer["changes"]) == 1 and answer["is_complete"] is False
    assert "changes of data-processor-role" in [part["what"] for part in answer["not_read"]]


def test_when_no_lookup_is_answered_there_is_no_empty_answer() -> None:
    with pytest.raises(UpstreamFailed, match="no lookup"):
        asked(inspected(unreadable={"trail": "our role may not call LookupEvents"}))
