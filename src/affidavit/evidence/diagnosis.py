"""What a diagnosis says: a cause, the recorded values that show it, a plan that cites them, and what stays unknown.

A chat model writes these, so they are checked when they enter. Whether they are *true* is for `verification` to say.
"""

import json
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from affidavit.evidence.confidence import Confidence, Level

# Bounds that no honest diagnosis reaches; they keep one runaway reply from filling a table item.
Name = Annotated[str, Field(min_length=1, max_length=1_000)]
Sentence = Annotated[str, Field(max_length=4_000)]


class FaultType(StrEnum):
    """What kind of fault it is. A name is never removed: stored diagnoses keep theirs."""

    PERMISSION_LOSS = "permission_loss"
    """A call that the role was allowed, or should be, is denied by a policy or a grant of AWS.

    Also where no policy of the role decides: Lambda may not pull the image from ECR, the account was given no access to
    a Bedrock model, the called service keeps roles of its own (OpenSearch, Lake Formation). The cause says which.
    """
    CREDENTIALS = "credentials"
    """A secret, token, certificate or trust is expired, missing or not accepted."""
    THROTTLING = "throttling"
    """Calls are refused for their number: of this function by Lambda, or by a called service, which the cause names.

    A third party that answers 429 throttles as well. One that refuses whatever the rate is a dependency.
    """
    NETWORK_BLOCK = "network_block"
    DEPENDENCY = "dependency"
    """A called service is down, refuses, or has no connection left."""
    RESOURCE_LIMIT = "resource_limit"
    """A limit of the sandbox other than memory and time: /tmp, descriptors, payload, threads."""
    STARTUP = "startup"
    """It cannot start: init, handler, image or layer."""
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    CODE_ERROR = "code_error"
    CONFIGURATION = "configuration"
    NODE_MEMORY = "node_memory"
    NODE_DISK = "node_disk"
    NODE_NETWORK = "node_network"
    NODE_DNS = "node_dns"
    NODE_RUNTIME = "node_runtime"
    NODE_KUBELET = "node_kubelet"
    NODE_CREDENTIALS = "node_credentials"
    NODE_KERNEL = "node_kernel"
    NODE_HARDWARE = "node_hardware"
    NODE_BOOTSTRAP = "node_bootstrap"
    NODE_CAPACITY = "node_capacity"
    """Pids, files, conntrack entries, network interfaces or addresses ran out."""
    WORKLOAD = "workload"
    """An application's own doing, not the node's."""
    NODE_FAULT = "node_fault"
    """An older, general name; only read, no longer written."""
    UNKNOWN = "unknown"


class IncidentSeverity(StrEnum):
    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class RiskLevel(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Grade(StrEnum):
    """How strong a conclusion is. One that the recorded answers contradict has no grade: it is refused."""

    PROVEN = "proven"
    """Everything the conclusion needs stands in recorded answers, and nothing there stays unexplained."""
    SUPPORTED = "supported"
    """The pointers are true, but something the conclusion needs was not shown: see `open_obligations`."""


class Claim(StrEnum):
    """What a pointer claims about its value. A program checks each of them."""

    SHOWS = "shows"
    ABSENT = "absent"
    COUNT = "count"
    OVER = "over"


class ProducedBy(StrEnum):
    CHAT_MODEL = "chat_model"
    RULES = "rules"


class _Record(BaseModel):
    # Built when first used: an alert that was handled already is answered without most of these.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class EvidencePointer(_Record):
    """Where a value stands in a recorded tool answer."""

    tool: Name = Field(description="name of a tool that was called in this investigation")
    field: Annotated[str, Field(max_length=1_000)] = Field(
        description="JSON Pointer into that tool's answer, for example /events/0/message"
    )
    value: JsonValue = Field(
        description="exactly what stands there; of a text, an exact part of at least 8 characters is enough"
    )
    interpretation: Sentence = Field(description="what this value shows, in one sentence")
    claim: Claim = Field(
        default=Claim.SHOWS,
        description="shows: the value is there. absent: something is not there, and the answer looked everywhere. "
        "count: the value is a number of things. over: a later run of the same work ended well",
    )

    @field_validator("value")
    @classmethod
    def _can_be_stored(cls, value: JsonValue) -> JsonValue:
        """Refused here, where it can be sent back: later it would end the whole run."""
        try:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        except UnicodeEncodeError as error:
            raise ValueError("it holds half a character (a lone surrogate): quote a part without it") from error
        except ValueError as error:
            raise ValueError("a number must be finite") from error
        return value


class RemediationStep(_Record):
    action: Name
    details: Sentence
    evidence_basis: tuple[int, ...] = Field(max_length=100, description="indexes into `evidence`, counted from 0")
    risk_level: RiskLevel
    requires_approval: bool
    is_advice: bool = Field(
        default=False,
        description="computed: it fits no known kind of change, so a person has to judge it",
    )


class Diagnosis(_Record):
    """Claims without a pointer belong in `gaps`, never in `evidence`."""

    root_cause: Annotated[str, Field(min_length=1, max_length=4_000)]
    fault_types: tuple[FaultType, ...] = Field(max_length=len(FaultType), description="every fault that is present")
    affected_resources: tuple[Name, ...] = Field(max_length=100)
    severity: IncidentSeverity
    evidence: tuple[EvidencePointer, ...] = Field(max_length=100)
    remediation_plan: tuple[RemediationStep, ...] = Field(max_length=50)
    gaps: tuple[Sentence, ...] = Field((), max_length=100, description="what could not be seen or proven")
    confidence: Confidence
    produced_by: ProducedBy = ProducedBy.CHAT_MODEL
    grade: Grade | None = Field(default=None, description="null: stored before conclusions were graded")
    open_obligations: tuple[Sentence, ...] = Field(
        default=(), max_length=100, description="what the conclusion needs and the recorded answers do not show"
    )

    @field_validator("confidence", mode="before")
    @classmethod
    def _lift_level(cls, value: object) -> object:
        """A chat model may give just the level."""
        if isinstance(value, str):
            return Confidence(level=Level(value), basis="stated, not computed", gaps=())
        return value

    @field_validator("fault_types")
    @classmethod
    def _each_once(cls, value: tuple[FaultType, ...]) -> tuple[FaultType, ...]:
        return tuple(dict.fromkeys(value))


class TokenUsage(_Record):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    total_tokens: int = Field(ge=0)

    def plus(self, other: Self) -> Self:
        return self.model_copy(
            update={name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields}
        )


NO_TOKENS = TokenUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
