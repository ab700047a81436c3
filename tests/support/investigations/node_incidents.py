"""A sick node's incident in the sandbox: its alarm, its collection, its index, our Lambda functions."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from affidavit.entrypoints.lambdas import on_bundle_uploaded, on_incident
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.intake.event_reader import bundle_news
from affidavit.incidents.store.state import IncidentState, Status
from affidavit.incidents.supervisor import Supervisor
from affidavit.sandbox.account.node_archives import archive_of
from affidavit.sandbox.account.nodes import CLUSTER, FleetNode
from affidavit.sandbox.aws.automation import Conduct, archive_key
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.kubernetes.node_diagnostics import AgentConduct
from affidavit.sandbox.sandbox import Sandbox
from affidavit.verification.assess import assess
from affidavit.verification.ledger_entry import Entry

Found = TypeVar("Found")
numbers = count(1)
WAIT_SECONDS = 60.0


class Context:
    invoked_function_arn = ""

    def get_remaining_time_in_millis(self) -> int:
        return 300_000


def a_node(
    sandbox: Sandbox,
    *faults: str,
    conduct: Conduct | None = None,
    agent: AgentConduct = AgentConduct.FAILS,
    cluster: str = CLUSTER,
) -> FleetNode:
    """`agent` is the node monitoring agent, which is asked when SSM cannot."""
    node = FleetNode(instance_id=f"i-0dead0000{next(numbers):07x}", faults=faults, cluster=cluster)
    sandbox.fleet.add(node)
    sandbox.cluster_api.diagnostics.conducts[node.instance_id] = agent
    sandbox.automation.conduct(node.instance_id, conduct or Conduct(step_seconds=0.0))
    return node


def alarm(node: FleetNode, **dimensions: str) -> dict[str, Any]:
    named = dimensions or {"InstanceId": node.instance_id}
    return {
        "AlarmName": f"status-{node.instance_id}",
        "AlarmArn": f"arn:aws:cloudwatch:{node.region}:000000000000:alarm:status",
        "NewStateValue": "ALARM",
        "NewStateReason": "Threshold Crossed",
        "StateChangeTime": datetime.now(UTC).isoformat(),
        "AWSAccountId": "000000000000",
        "Trigger": {
            "MetricName": "StatusCheckFailed",
            "Dimensions": [{"name": key, "value": value} for key, value in named.items()],
        },
    }


def delivered(*messages: dict[str, Any] | str) -> list[dict[str, Any]]:
    texts = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    event = {"Records": [{"Sns": {"MessageId": uuid.uuid4().hex, "Message": text}} for text in texts]}
    return json.loads(on_incident.handler(event, Context())["body"])


def collected(sandbox: Sandbox, node: FleetNode) -> str:
    """The key of the archive, once the collection has ended."""
    until = time.monotonic() + WAIT_SECONDS
    while not any(run.status == "Success" for run in sandbox.automation.runs_of(node.instance_id)):
        assert time.monotonic() < until, "it was not collected"
        time.sleep(0.02)
    return archive_key(node.instance_id)


def indexed(key: str, *, by: str) -> None:
    """`by` is the session of who wrote the object, as S3's event names it."""
    record = {"userIdentity": {"principalId": f"AWS:AROAEXAMPLE1:{by}"}, "s3": {"object": {"key": key}}}
    body = json.dumps({"Records": [record]})
    done = on_bundle_uploaded.handler({"Records": [{"messageId": "m", "body": body}]}, None)
    assert done == {"batchItemFailures": []}


def supervisor() -> Supervisor:
    return on_incident.application("")[1]


def state_of(name: str) -> IncidentState:
    state = supervisor().states.get_state(IncidentId(name))
    assert state is not None
    return state


def diagnosis_of(name: str) -> Diagnosis:
    context = supervisor().contexts.get_context(IncidentId(name))
    assert context is not None
    assert context.diagnosis is not None
    found = assess(context.diagnosis, supervisor().records.entries(context.ledger), supervisor().source)
    assert found.holds, found.problems
    return context.diagnosis


def through(sandbox: Sandbox, node: FleetNode) -> str:
    """From the alarm to the end of its incident; the incident's id."""
    (received,) = delivered(alarm(node))
    assert received["outcome"] == "awaiting evidence"
    name = received["incident_id"]
    assert state_of(name).status is Status.AWAITING_EVIDENCE
    indexed(collected(sandbox, node), by=node.instance_id)
    delivered(bundle_news(node.instance_id))
    return name


def uploaded(sandbox: Sandbox, node: FleetNode, *faults: str) -> None:
    """A bundle that claims to be of this node and that nobody asked it for."""
    key = f"eks_{node.instance_id}/{node.instance_id}_{uuid.uuid4().hex[:6]}.tar.gz"
    forged = archive_of(replace(node, faults=faults))
    sandbox.client("s3").put_object(Bucket=BUCKET, Key=key, Body=forged)
    indexed(key, by="somebody")


def ended(node: FleetNode, name: str) -> IncidentState:
    until = time.monotonic() + WAIT_SECONDS
    while (state := state_of(name)).status is Status.AWAITING_EVIDENCE:
        assert time.monotonic() < until
        delivered(bundle_news(node.instance_id))
    return state


OFFLINE = Conduct(ends="Failed", failure="the agent is offline", step_seconds=0.0)


def ledger_of(name: str) -> list[Entry]:
    context = supervisor().contexts.get_context(IncidentId(name))
    assert context is not None
    return list(supervisor().records.entries(context.ledger))


def awaited(look: Callable[[], Found], node: FleetNode) -> Found:
    """What `look` finds, once it does; meanwhile the incident is woken as the watchdog would."""
    until = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            return look()
        except (KeyError, ValueError):
            assert time.monotonic() < until, "it did not come"
        delivered(bundle_news(node.instance_id))
        time.sleep(0.05)
