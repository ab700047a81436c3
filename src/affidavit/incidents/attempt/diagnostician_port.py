"""The port of whoever investigates an incident. `agent/` implements it with a chat model."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from affidavit.errors import Conflict
from affidavit.evidence.diagnosis import Diagnosis, TokenUsage
from affidavit.incidents.attempt.answer_ledger import Ledger
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue


class ErrorCategory(StrEnum):
    MCP_CONNECTION = "mcp_connection"
    MCP_INIT = "mcp_init"
    MCP_AUTH = "mcp_auth"
    BEDROCK_AUTH = "bedrock_auth"
    BEDROCK_TRANSIENT = "bedrock_transient"
    BEDROCK_CONFIG = "bedrock_config"
    UNKNOWN = "unknown"

    @property
    def is_transient(self) -> bool:
        return self in (ErrorCategory.MCP_CONNECTION, ErrorCategory.MCP_INIT, ErrorCategory.BEDROCK_TRANSIENT)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentError:
    """Categories named after Bedrock mean the chat model; `provider` says whose it is."""

    category: ErrorCategory
    message: str
    provider: str = ""

    def __str__(self) -> str:
        return f"[{self.category}] {self.message}"


class RunOutcome(StrEnum):
    """How an investigation ended. All but DIAGNOSED and ERROR mean it ran and could not be diagnosed."""

    DIAGNOSED = "diagnosed"
    RECURSION_LIMIT = "recursion_limit"
    DEADLINE = "deadline"
    TOKEN_CAP = "token_cap"
    UNVERIFIED = "unverified"
    REFUSED = "refused"
    """The chat model declined to answer, or a filter stopped it."""
    SILENT = "silent"
    """The chat model called nothing, also when it was reminded."""
    FOREIGN = "foreign"
    """What answered is in another account or region than the alert."""
    DEFERRED = "deferred"
    """The supervisor's own: too many incidents, so no chat model was asked."""
    STALE = "stale"
    """The supervisor's own, too: every worker died."""
    ERROR = "error"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Shared by every attempt and retry: when to be done, and how many tokens the incident may cost in all."""

    deadline: datetime
    max_tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentResult:
    """Always comes back, also on failure.

    `diagnosis` stands only with the outcome DIAGNOSED; `best_so_far` is what the rules can prove when the run failed.
    `reasoning_chain` holds messages, the system prompt first, each `{"role": system|user|assistant|tool, "content": …}`
    with `tool_calls` (each with an `id`) and `usage` on an assistant's and `tool_call_id` on a tool's.
    `token_usage` is the whole incident's: what was spent before this attempt plus this attempt.
    """

    outcome: RunOutcome
    token_usage: TokenUsage
    diagnosis: Diagnosis | None = None
    best_so_far: Diagnosis | None = None
    reasoning_chain: tuple[Mapping[str, JsonValue], ...] = ()
    error: AgentError | None = None
    llm_calls: int = 0
    tools_called: tuple[str, ...] = ()
    steps: int = 0
    gaps: tuple[str, ...] = field(default=())
    refusals: tuple[str, ...] = field(default=())
    """What was wrong with each submission of this attempt that did not hold."""


class LeaseLost(Conflict):
    """Somebody else has taken the incident over. Stop at once and store nothing; let it pass through every handler."""


class Checkpoint(Protocol):
    """Where an investigation puts what it has, so that after a crash it goes on instead of starting over."""

    def load(self) -> JsonValue:
        """The `state` saved last, by this attempt or by one that died; None at the first."""
        ...

    def save(self, state: JsonValue, usage: TokenUsage) -> None:
        """Keep `state` (JSON, the investigator's own shape), the ledger and the whole incident's token use.

        Call it after every chat-model reply and after every batch of tool answers. It renews the lease, too.
        Raises LeaseLost.
        """
        ...


class Diagnostician(Protocol):
    def investigate(
        self, incident: Incident, *, ledger: Ledger, limits: Limits, spent: TokenUsage, checkpoint: Checkpoint
    ) -> AgentResult:
        """Find the cause. `ledger` already holds what earlier attempts recorded; every new answer goes into it.

        Raises LeaseLost; every other failure comes back as the result's `error`.
        """
        ...
