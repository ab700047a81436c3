"""Environment variables come back out of a published version that a known-good state vouches for."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from tests.support.repairing.remediation import a_subject
from tests.support.repairing.repaired_function import make_function
from tests.support.repairing.repairs import a_workshop, arn_of

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.state_inspector import AwsStateInspector
from affidavit.known_good.capture import Captures
from affidavit.known_good.store import KnownGoodStore
from affidavit.ports.argument_sources import GOOD_VARIABLES, SourceKind
from affidavit.ports.clock import SystemClock
from affidavit.remediation.actions.catalog import action_type
from affidavit.remediation.plan.seal import plan_bytes
from affidavit.remediation.record.phases import Phase
from affidavit.remediation.review.action_matches_source import beyond_source
from affidavit.remediation.sources.argument_source_lookup import RecordedSources
from affidavit.sandbox.sandbox import Sandbox

KIND = action_type("lambda.configuration.restore")
GOOD, BAD = {"Variables": {"PASSWORD": "hunter2", "MODE": "on"}}, {"Variables": {"PASSWORD": "wrong-one"}}


@pytest.fixture
def sandboxed(sandbox: Sandbox, aws_environment: dict[str, str]) -> Sandbox:
    return sandbox


def test_variables_come_back_from_the_version_that_the_known_good_state_vouches_for(
    sandboxed: Sandbox, tmp_path: Path
) -> None:
    client, name = sandboxed.client("lambda"), f"orders-{uuid4().hex[:8]}"
    workshop = a_workshop(tmp_path, sandboxed)
    store = KnownGoodStore(objects=workshop.bench.objects, table=workshop.plans.table, clock=SystemClock())
    sources = RecordedSources(store=store, inspector=AwsStateInspector(AwsClients(sandboxed.region)))
    make_function(sandboxed, name, Environment=GOOD)
    client.publish_version(FunctionName=name)
    captures = Captures(store=store, inspector=sources.inspector)
    captures.capture(name, troubled=lambda _: False, is_insisting=True)
    client.update_function_configuration(FunctionName=name, Environment=BAD)

    def versions() -> list[bool]:
        found = sources.about(a_subject(name), before=datetime.now(UTC) + timedelta(minutes=1))
        return [one for one in found if one.source.kind is SourceKind.FUNCTION_VERSION]

    (good,) = versions()
    assert KIND.aims(a_subject(name), good, workshop.reader) == [], "those of now stand in no version: advice"
    client.publish_version(FunctionName=name, Description="broken")
    said = {one.document["Version"]: one for one in versions()}
    assert {number: one.document[GOOD_VARIABLES] for number, one in said.items()} == {"1": True, "2": False}
    assert KIND.aims(a_subject(name), said["2"], workshop.reader) == []
    (aim,) = KIND.aims(a_subject(name), said["1"], workshop.reader)
    assert (aim.target, aim.arguments) == (arn_of(name), {"path": "Environment", "value": "1"})
    workshop.sources.documents += said.values()
    action = workshop.action(KIND.name, aim.target, aim.arguments, source=said["1"].source)
    assert list(beyond_source(action, said["1"])) == []
    assert list(beyond_source(replace(action, arguments={**aim.arguments, "value": "2"}), said["2"]))
    workshop.read_back_seconds = 10
    client.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig={"Delay": 0.1})
    plan = workshop.plan(action)
    workshop.approved(plan)
    assert workshop.executor.run(plan.plan_id).phase is Phase.PROVEN
    assert client.get_function_configuration(FunctionName=name)["Environment"] == GOOD
    assert workshop.executor.undo(plan.plan_id, "alice").phase is Phase.UNDONE
    assert client.get_function_configuration(FunctionName=name)["Environment"] == BAD
    written = plan_bytes(plan).decode() + "".join(one.text for one in workshop.plans.record(plan.plan_id))
    assert not any(value in written for value in ("hunter2", "wrong-one"))
