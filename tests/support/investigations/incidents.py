"""A supervisor over real local stores, an investigator that follows a script, and ways to die at any call."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from affidavit.adapters.local.objects import DirectoryObjectStore
from affidavit.adapters.local.table import SqliteTable
from affidavit.agent.subjects.function import FUNCTION
from affidavit.evidence.diagnosis import Diagnosis, ProducedBy, TokenUsage
from affidavit.evidence.incident_subject import Subject, SubjectKind
from affidavit.incidents.attempt.answer_ledger import Entry, Ledger
from affidavit.incidents.attempt.diagnostician_port import AgentError, AgentResult, Checkpoint, Limits, RunOutcome
from affidavit.incidents.attempt.evidence_without_chat_model import Conclude, Degraded, DiagnosticTools, PartQuestion
from affidavit.incidents.attempt.incidents_per_hour import Breaker
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.incidents.notices.channel import Channel, ChannelName
from affidavit.incidents.notices.plain_text import plain_text
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.incident_leases import IncidentStates
from affidavit.incidents.store.stored_diagnoses import IncidentContexts
from affidavit.incidents.supervisor import Supervisor
from affidavit.incidents.telemetry import Telemetry
from affidavit.ports.json import JsonValue
from affidavit.ports.notice_record import Notice
from affidavit.ports.notifier import Notifier
from affidavit.ports.object_store import ObjectStore
from affidavit.ports.table import Table
from tests.support.clock import FakeClock
from tests.support.investigations.diagnoses import a_diagnosis, a_pointer

MAX_TOKENS = 100_000
MEMORY = Path("/dev/shm")
HOUR = timedelta(hours=1)
REMAINING = timedelta(minutes=5)
MESSAGE = "AccessDenied: data-processor is not authorized to perform s3:GetObject"
LOGS: JsonValue = {"log_group": "/aws/lambda/data-processor", "events": [{"message": MESSAGE}], "is_complete": True}
IAM: JsonValue = {"role_name": "data-processor-role", "inline_policies": {}, "attached_policies": []}


@contextmanager
def memory_folder() -> Generator[Path]:
    """In memory where there is such a place: tests of many runs otherwise wait for a disk most of their time."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


class Killed(BaseException):
    """The process died here: nothing after this line ran."""


class Boundary:
    """Counts calls and dies at one of them, before or after its effect. Call 0 never comes."""

    def __init__(self, die_at: int = 0, *, after: bool = False) -> None:
        self.calls: list[str] = []
        self._die_at, self._after = die_at, after

    def around(self, name: str, call: Callable[[], Any]) -> Any:
        self.calls.append(name)
        is_last = len(self.calls) == self._die_at
        if is_last and not self._after:
            raise Killed(name)
        result = call()
        if is_last:
            raise Killed(name)
        return result


class Watched:
    """Any adapter, with every call of it a boundary."""

    def __init__(self, inner: Any, boundary: Boundary, name: str) -> None:
        self._inner, self._boundary, self._name = inner, boundary, name

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def path(self) -> Path:
        return self._inner.path

    def __getattr__(self, method: str) -> Callable[..., Any]:
        call = getattr(self._inner, method)
        return lambda *args, **named: self._boundary.around(f"{self._name}.{method}", lambda: call(*args, **named))


class Tools:
    def __init__(self) -> None:
        self.asked: list[str] = []

    def call(self, tool: str, arguments: Mapping[str, JsonValue], *, within: timedelta) -> JsonValue:
        self.asked.append(tool)
        return {"get_recent_logs": LOGS, "get_iam_state": IAM}.get(tool, {"error": "no such function"})


@dataclass
class Scripted:
    """Two chat-model calls with two tool calls between them, saved after each step as a real investigator does."""

    boundary: Boundary = field(default_factory=Boundary)
    runs: list[IncidentId] = field(default_factory=list)
    chat_calls: list[IncidentId] = field(default_factory=list)
    error: AgentError | None = None
    outcome: RunOutcome = RunOutcome.DIAGNOSED
    diagnosis: Diagnosis | None = None
    chain_filler: str = ""
    refusals: tuple[str, ...] = ()
    before_end: Callable[[], None] = lambda: None

    def investigate(
        self, incident: Incident, *, ledger: Ledger, limits: Limits, spent: TokenUsage, checkpoint: Checkpoint
    ) -> AgentResult:
        self.runs.append(incident.incident_id)
        state: Any = checkpoint.load() or {"step": 0, "chain": [{"role": "system", "content": "be honest"}]}
        chain, usage = list(state["chain"]), spent
        if state["step"] < 1:
            usage = self._chat(incident, usage)
            chain.append(self._call("a", "b"))
            checkpoint.save({"step": 1, "chain": chain}, usage)
        if state["step"] < 2:
            for tool, answer in (("get_recent_logs", LOGS), ("get_iam_state", IAM)):
                self.boundary.around(f"tool.{tool}", lambda: None)
                ledger.record(tool, {"lambda_name": incident.subject.id}, answer)
            chain += [self._result("a"), self._result("b")]
            checkpoint.save({"step": 2, "chain": chain}, usage)
        if state["step"] < 3:
            usage = self._chat(incident, usage)
            chain.append({"role": "assistant", "content": "submitted"})
            checkpoint.save({"step": 3, "chain": chain}, usage)
        self.before_end()
        return self._result_of(chain, usage)

    def _chat(self, incident: Incident, usage: TokenUsage) -> TokenUsage:
        self.boundary.around("chat", lambda: self.chat_calls.append(incident.incident_id))
        return usage.plus(some_tokens())

    def _call(self, *ids: str) -> dict[str, JsonValue]:
        return {"role": "assistant", "content": self.chain_filler, "tool_calls": [{"id": one} for one in ids]}

    def _result(self, call: str) -> dict[str, JsonValue]:
        return {"role": "tool", "tool_call_id": call, "content": self.chain_filler}

    def _result_of(self, chain: list[Any], usage: TokenUsage) -> AgentResult:
        is_diagnosed = self.error is None and self.outcome is RunOutcome.DIAGNOSED
        return AgentResult(
            outcome=RunOutcome.ERROR if self.error else self.outcome,
            diagnosis=(self.diagnosis or true_diagnosis()) if is_diagnosed else None,
            error=self.error,
            token_usage=usage,
            reasoning_chain=tuple(chain),
            llm_calls=2,
            tools_called=("get_recent_logs", "get_iam_state"),
            steps=3,
            refusals=self.refusals,
        )


def some_tokens() -> TokenUsage:
    return TokenUsage.model_validate({"prompt_tokens": 90, "completion_tokens": 10, "total_tokens": 100})


def true_diagnosis() -> Diagnosis:
    return a_diagnosis(a_pointer("get_recent_logs", "/events/0/message", MESSAGE))


def false_diagnosis() -> Diagnosis:
    return a_diagnosis(a_pointer("get_recent_logs", "/events/0/message", "AccessDenied: somebody else"))


def by_rules(_entries: Sequence[Entry]) -> Diagnosis | None:
    return true_diagnosis().model_copy(update={"produced_by": ProducedBy.RULES})


def degraded(tools: DiagnosticTools, conclude: Conclude = by_rules, name: str = "data-processor") -> Degraded:
    """Evidence about a function without a chat model, as the supervisor is given it."""
    questions = {
        part: PartQuestion(tool=tool, arguments=FUNCTION.arguments(tool, name)) for part, tool in FUNCTION.parts.items()
    }
    return Degraded(tools=tools, conclude=conclude, questions=questions, shrinks=FUNCTION.shrinks)


def an_incident(name: str = "inc-1", **changes: Any) -> Incident:
    values: dict[str, Any] = {
        "incident_id": IncidentId(name),
        "delivery_id": "delivery-1",
        "account": "123456789012",
        "region": "ca-central-1",
        "subject": Subject(kind=SubjectKind.FUNCTION, id="data-processor"),
        "resources": ("data-processor",),
        "signal": Signal.FAILURE_REPORT,
        "signal_name": "AccessDenied",
        "message": "it failed",
        "occurred_at": datetime(2026, 1, 15, 10, 0, tzinfo=UTC),
        "error_type": "AccessDenied",
    }
    return Incident(**{**values, **changes})


@dataclass
class Mailbox:
    """Keeps what people are told. `error` is what sending fails with."""

    boundary: Boundary = field(default_factory=Boundary)
    notices: list[tuple[str, str, str]] = field(default_factory=list)
    error: Exception | None = None

    def takes(self, notice: Notice) -> bool:
        return True

    def notify(self, notice: Notice, *, earlier: str) -> str:
        if self.error is not None:
            raise self.error
        told = (notice.title, plain_text(notice), notice.key)
        self.boundary.around("notify", lambda: self.notices.append(told))
        return notice.key


def a_channel(notifier: Notifier, name: ChannelName = ChannelName.SNS, **changes: Any) -> Channel:
    return Channel(**{"name": name, "notifier": notifier, "per_minute": 1_000, **changes})


@dataclass(frozen=True, kw_only=True)
class Bench:
    supervisor: Supervisor
    scripted: Scripted
    clock: FakeClock
    lines: list[str]
    objects: ObjectStore
    tools: Tools

    @property
    def states(self) -> IncidentStates:
        return self.supervisor.states

    @property
    def contexts(self) -> IncidentContexts:
        return self.supervisor.contexts


def local_tables(folder: Path, clock: FakeClock) -> tuple[Table, Table]:
    file = folder / "state.sqlite"
    return SqliteTable(file, "incident-state", clock), SqliteTable(file, "incident-context", clock)


def a_bench(
    folder: Path,
    *,
    clock: FakeClock | None = None,
    scripted: Scripted | None = None,
    boundary: Boundary | None = None,
    tables: tuple[Table, Table] | None = None,
    limit: int = 500,
    has_tools: bool = False,
    mailbox: Mailbox | None = None,
    channels: tuple[Channel, ...] = (),
) -> Bench:
    clock = clock or FakeClock()
    state, context = tables or local_tables(folder, clock)
    objects: Any = DirectoryObjectStore(folder / "objects")
    if boundary is not None:
        state, context = Watched(state, boundary, "state"), Watched(context, boundary, "context")
        objects = Watched(objects, boundary, "objects")
    scripted = scripted or Scripted()
    if boundary is not None:
        scripted.boundary = boundary
        if mailbox is not None:
            mailbox.boundary = boundary
    records, lines, tools = Records(objects), list[str](), Tools()
    supervisor = Supervisor(
        states=IncidentStates(state, clock, tells_people=bool(channels) or mailbox is not None),
        contexts=IncidentContexts(context, records, clock, max_tokens=MAX_TOKENS),
        records=records,
        breaker=Breaker(state, clock, limit=limit),
        telemetry=Telemetry(lines.append, clock),
        clock=clock,
        diagnostician=lambda: scripted,
        max_tokens=MAX_TOKENS,
        degraded=(lambda _: degraded(tools)) if has_tools else None,
        channels=channels or (() if mailbox is None else (a_channel(mailbox),)),
    )
    return Bench(supervisor=supervisor, scripted=scripted, clock=clock, lines=lines, objects=objects, tools=tools)
