"""A Lambda function as the subject of an incident: its tools, its prompt, its rules."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from pydantic import BaseModel

from affidavit.agent.rules import best_so_far, raised_by_fields
from affidavit.agent.rules.ledger_facts import CHANGES, CONFIG, IAM, LOGS, NETWORK
from affidavit.agent.rules.names_in_error_messages import names_in
from affidavit.agent.subjects.function_answer_trimming import drop_lambda_config, drop_oldest_logs, trim_iam_to_sids
from affidavit.agent.subjects.function_prompt import PROMPT
from affidavit.agent.subjects.investigable import OutOfScope, Scope
from affidavit.agent.toolbox.tool_providers import DirectToolProvider, Toolbox
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.attempt.answers_cut_to_budget import Shrink
from affidavit.incidents.incident import Incident
from affidavit.known_good.capture import Captures
from affidavit.ports.clock import Clock
from affidavit.ports.json import JsonValue
from affidavit.ports.workload_inspector import WorkloadInspector
from affidavit.verification.canonical_json import canonical
from affidavit.verification.ledger_entry import Entry
from affidavit.workloads.denials import BY_OPERATION, NAMED
from affidavit.workloads.question_descriptions import ANSWERS, ASK_WHEN, EXAMPLE
from affidavit.workloads.questions import Workloads
from affidavit.workloads.wire import TOOL_ARG_SCHEMAS, TOOL_RESPONSE_SCHEMAS, function_name

_FIRST = (
    (("denied", "accessdenied", "unauthorized", "forbidden", "kms"), (LOGS, IAM)),
    (("throttl", "concurren", "ratelimit"), (CONFIG, LOGS)),
    (("connect", "timeout", "timed out", "unreachable", "enotfound", "resolve"), (LOGS, NETWORK)),
)


class FunctionInvestigable:
    kind: SubjectKind = SubjectKind.FUNCTION
    toolset: str = "lambda"
    prompt: str = PROMPT
    argument_schemas: Mapping[str, type[BaseModel]] = MappingProxyType(TOOL_ARG_SCHEMAS)
    answer_schemas: Mapping[str, type[BaseModel]] = MappingProxyType(TOOL_RESPONSE_SCHEMAS)
    descriptions: Mapping[str, str] = MappingProxyType(
        {name: f"{ANSWERS[name]} {ASK_WHEN[name]} {EXAMPLE}" for name in TOOL_ARG_SCHEMAS}
    )
    example_pointer: Mapping[str, JsonValue] = MappingProxyType(
        {
            "tool": CONFIG,
            "field": "/ReservedConcurrentExecutions",
            "value": 0,
            "interpretation": "The function can never run.",
        }
    )
    parts: Mapping[str, str] = MappingProxyType(
        {"logs": LOGS, "iam": IAM, "lambda_config": CONFIG, "network": NETWORK, "changes": CHANGES}
    )
    unprompted: Sequence[str] = (LOGS, IAM, CONFIG, NETWORK, CHANGES)
    shrinks: Sequence[Shrink] = (drop_oldest_logs, trim_iam_to_sids, drop_lambda_config)

    def arguments(self, tool: str, subject_id: str) -> Mapping[str, JsonValue]:
        return {"lambda_name": subject_id}

    def subject_id(self, name: str) -> str:
        return function_name(name)

    def scope(self, incident: Incident, entries: Sequence[Entry]) -> Scope:
        return Scope(ids=frozenset(map(function_name, incident.resources)))

    def scoped(self, tool: str, given: Mapping[str, object], scope: Scope) -> Mapping[str, JsonValue]:
        name = function_name(TOOL_ARG_SCHEMAS[tool].model_validate(given).lambda_name)
        if name not in scope.ids:
            raise OutOfScope(f"{name} is not part of this incident; ask about {', '.join(sorted(scope.ids)) or 'none'}")
        return self.arguments(tool, name)

    def mismatch(self, incident: Incident, entries: Sequence[Entry]) -> str:
        for answer in (entry.answer for entry in entries if entry.tool == CONFIG and isinstance(entry.answer, Mapping)):
            parts = [*str(answer.get("FunctionArn") or "").split(":"), "", "", "", "", ""]
            there, meant = (parts[3], parts[4]), (incident.region, incident.account)
            if any(one and other and one != other for one, other in zip(there, meant, strict=True)):
                return (
                    f"the alert is about {incident.subject.id} in account {incident.account}, {incident.region}, and "
                    f"the function of that name that can be asked is in account {parts[4]}, {parts[3]}"
                )
        return ""

    def first_tools(self, alert: str) -> Sequence[str]:
        lowered = alert.lower()
        return next((tools for words, tools in _FIRST if any(word in lowered for word in words)), (LOGS, CONFIG))

    def names_told(self, text: str) -> Iterator[str]:
        yield from names_in(text)
        yield from (found["action"] for found in NAMED.finditer(text))
        yield from (found["operation"] for found in BY_OPERATION.finditer(text))

    def signature(self, diagnosis: Diagnosis) -> frozenset[str]:
        settings = (
            f"{one.tool} {one.field} {canonical(one.value)}"
            for one in diagnosis.evidence
            if one.tool not in (LOGS, CHANGES) and not one.field.startswith("/Metrics")
        )
        return frozenset((*diagnosis.fault_types, *settings))

    def gaps(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        return ()

    def completed(self, diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
        return diagnosis

    def notes(self, entries: Sequence[Entry]) -> str:
        return ""

    def conclude(
        self, entries: Sequence[Entry], gaps: Sequence[str] = (), *, alert: Mapping[str, object] | None = None
    ) -> Diagnosis | None:
        return best_so_far(entries, gaps, raised=raised_by_fields(alert or {}))


FUNCTION = FunctionInvestigable()


def direct_toolbox(inspector: WorkloadInspector, clock: Clock, captures: Captures | None = None) -> Toolbox:
    """Asks AWS from this process, about the functions of the incident and no others."""

    def open_for(incident: Incident) -> DirectToolProvider:
        functions = frozenset(function_name(name) for name in incident.resources)
        return DirectToolProvider(Workloads(inspector=inspector, clock=clock, functions=functions, captures=captures))

    return open_for
