"""The incident path of the sandbox, for tests that break the workload and wait for what people would be told."""

import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.fault_injection_calls import AwsFaultTarget
from affidavit.bootstrap import App, build_app
from affidavit.chaos.fault_planning import plan_network, plan_revoke, plan_throttle
from affidavit.chaos.inject_and_restore import inject, restore
from affidavit.chaos.injectable_faults import InjectedFault, NetworkMethod, RevokeTarget
from affidavit.entrypoints.supervisor_wiring import build_supervisor
from affidavit.incidents.store.state import IncidentState
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import to_nowhere
from affidavit.sandbox.account.function_account import FUNCTION
from affidavit.sandbox.chat_models.bedrock import BedrockSimulator
from affidavit.sandbox.chat_models.service_failures import FAILING
from affidavit.sandbox.incident_pipeline import ACCOUNT_ID, IncidentPath
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings

PATIENCE_SECONDS = 120
CHAT = {"CHAT_PROVIDER": "bedrock", "CHAT_MODEL_ID": "anthropic.claude-good", "MAX_INCIDENTS_PER_HOUR": "500"}


@dataclass(frozen=True, kw_only=True)
class Scene:
    path: IncidentPath
    bedrock: BedrockSimulator
    app: App
    target: AwsFaultTarget
    supervisor: Supervisor
    """Reads the stores; the one that investigates is another process."""
    open_faults: list[InjectedFault] = field(default_factory=list[InjectedFault])

    def client(self, service: str) -> Any:
        return self.path.sandbox.client(service)

    def breaks(self, fault: str) -> None:
        kind, changes = self._planned(fault)
        accounts = frozenset({ACCOUNT_ID})
        inject(
            self.target,
            self.app.state,
            self.app.clock,
            function=FUNCTION,
            fault=kind,
            changes=changes,
            accounts=accounts,
        )
        self.open_faults.append(kind)
        if kind is InjectedFault.NETWORK:
            self._wait_for_gate(shut=True)

    def heal(self) -> None:
        """Puts everything back, and empties the log: what fails now and then counts as failing, as it should.

        A report that nobody has taken yet goes, too: the next test's supervisor would investigate it as well.
        """
        for kind in self.open_faults:
            restore(self.target, self.app.state, function=FUNCTION, fault=kind)
        self.open_faults.clear()
        self._wait_for_gate(shut=False)
        self.client("sqs").purge_queue(QueueUrl=self.path.queue_url)
        self.client("logs").delete_log_group(logGroupName=f"/aws/lambda/{FUNCTION}")
        assert self.runs() == ["ok"]

    def runs(self, at_once: int = 1) -> Sequence[str]:
        """How runs of the workload end: ok, failed or throttled."""
        client = self.client("lambda")
        with ThreadPoolExecutor(at_once) as pool:
            return [run.result() for run in [pool.submit(_run, client) for _ in range(at_once)]]

    def publish(self) -> str:
        """A failure report of the workload, as it writes one; the incident's id."""
        name = f"reported-{uuid.uuid4().hex[:12]}"
        text = f'{{"function_name": "{FUNCTION}", "incident_id": "{name}", "error_message": "AccessDenied"}}'
        self.client("sns").publish(TopicArn=self.path.seeded.topic_arn, Message=text)
        return name

    def alarm(self, metric: str) -> str:
        """A new alarm on the workload; its name. Who looks after the fault is in force sees an alarm of its own."""
        name = f"{metric.lower()}-{uuid.uuid4().hex[:8]}"
        self.client("cloudwatch").put_metric_alarm(
            AlarmName=name,
            Namespace="AWS/Lambda",
            MetricName=metric,
            Dimensions=[{"Name": "FunctionName", "Value": FUNCTION}],
            Statistic="Sum",
            Period=60,
            EvaluationPeriods=1,
            Threshold=1,
            ComparisonOperator="GreaterThanOrEqualToThreshold",
            AlarmActions=[self.path.seeded.topic_arn],
        )
        return name

    def seen(self) -> set[str]:
        return {state.incident.incident_id for state in self._listed()}

    def ended(self, *, named: str = "", after: set[str] | None = None) -> tuple[IncidentState, IncidentContext]:
        """The incident of this name or alarm, or the newest that was not there before; waits for its end. Which alert
        of one failure comes first, its report or an alarm, depends on how busy the machine is."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < deadline:
            found = [state for state in self._listed() if self._is_meant(state, named, after)]
            if found and not found[0].status.is_open:
                context = self.supervisor.contexts.get_context(found[0].incident.incident_id)
                assert context is not None
                return found[0], context
            time.sleep(0.2)
        raise AssertionError(f"no incident ended; {self.log()}")

    def _is_meant(self, state: IncidentState, named: str, after: set[str] | None) -> bool:
        if not named:
            return state.incident_id not in (after or ())
        if named in (state.incident_id, state.incident.signal_name):
            return True
        # It may have joined the incident that another alert of the same failure opened.
        episode = self.supervisor.states.episodes.current(state.incident)
        has_joined = episode is not None and episode.has_fired(replace(state.incident, signal_name=named))
        return has_joined and episode is not None and episode.incident_id == state.incident_id

    def log(self) -> str:
        return (self.path.folder / "supervisor.log").read_text()[-3000:]

    def _listed(self) -> list[IncidentState]:
        """Newest first. Yesterday's, too: it may have been received before midnight."""
        now = self.app.clock.now()
        days = (now, now - timedelta(days=1))
        return [state for day in days for state in self.supervisor.states.listed(day, limit=100)]

    def _planned(self, fault: str) -> tuple[InjectedFault, Any]:
        kind, _, detail = fault.partition(" ")
        match kind:
            case "revoke":
                return InjectedFault.IAM, plan_revoke(self.target, FUNCTION, RevokeTarget(detail))
            case "throttle":
                return InjectedFault.THROTTLE, plan_throttle(self.target, FUNCTION, int(detail))
            case _:
                return InjectedFault.NETWORK, plan_network(self.target, FUNCTION, NetworkMethod(detail))

    def _wait_for_gate(self, *, shut: bool) -> None:
        deadline = time.monotonic() + 30
        while self.path.gate.is_shut != shut and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.path.gate.is_shut == shut


@contextmanager
def scene(folder: Path, *, has_servers: bool) -> Iterator[Scene]:
    bedrock = BedrockSimulator(scripts=FAILING)
    with (
        Sandbox(folder, bedrock=bedrock) as sandbox,
        IncidentPath(sandbox, chat=CHAT, has_servers=has_servers) as path,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in path.environment.items():
            patch.setenv(name, value)
        app = build_app(Settings.from_environment())
        supervisor = build_supervisor(app, emit=to_nowhere)
        target = AwsFaultTarget(AwsClients(sandbox.region))
        yield Scene(path=path, bedrock=bedrock, app=app, target=target, supervisor=supervisor)


def _run(client: Any) -> str:
    try:
        answer = client.invoke(FunctionName=FUNCTION, Payload=b"{}")
    except ClientError:
        return "throttled"
    return "failed" if "FunctionError" in answer else "ok"
