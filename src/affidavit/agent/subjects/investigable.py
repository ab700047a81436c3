"""What the agent must know of a kind of subject to investigate one. The graph itself knows no kind."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from affidavit.evidence.diagnosis import Diagnosis
from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.attempt.answers_cut_to_budget import Shrink
from affidavit.incidents.incident import Incident
from affidavit.ports.json import JsonValue
from affidavit.verification.ledger_entry import Entry


class OutOfScope(Exception):
    """The arguments name something that is no part of the incident."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scope:
    """What may be asked about: `ids`, and `peers` beside one of them where things are compared.

    `index_id` is the index of a node's bundle that the incident rests on; None: whichever is newest.
    """

    ids: frozenset[str]
    peers: frozenset[str] = frozenset()
    index_id: str | None = None


class Investigable(Protocol):
    @property
    def kind(self) -> SubjectKind: ...

    @property
    def toolset(self) -> str:
        """The toolset of the MCP server that has these tools."""
        ...

    @property
    def prompt(self) -> str:
        """The system prompt."""
        ...

    @property
    def argument_schemas(self) -> Mapping[str, type[BaseModel]]:
        """By tool. These are all the tools there are, in the order in which they are offered."""
        ...

    @property
    def answer_schemas(self) -> Mapping[str, type[BaseModel]]:
        """By tool."""
        ...

    @property
    def descriptions(self) -> Mapping[str, str]:
        """By tool, for the chat model."""
        ...

    @property
    def example_pointer(self) -> Mapping[str, JsonValue]:
        """An evidence pointer into one of the answers, for the chat model."""
        ...

    @property
    def parts(self) -> Mapping[str, str]:
        """Name of a part of the gathered evidence → the tool that answers it."""
        ...

    @property
    def shrinks(self) -> Sequence[Shrink]:
        """What makes the gathered parts shorter, the least useful first."""
        ...

    def arguments(self, tool: str, subject_id: str) -> Mapping[str, JsonValue]:
        """How this tool is asked about this subject when no chat model chooses."""
        ...

    def subject_id(self, name: str) -> str:
        """The id of the subject with this name: a resource of an alert may spell it longer."""
        ...

    @property
    def unprompted(self) -> Sequence[str]:
        """Tools that can be asked without anybody choosing their arguments, the most telling first."""
        ...

    def scope(self, incident: Incident, entries: Sequence[Entry]) -> Scope:
        """What of this kind may be asked about. `entries` are the answers recorded so far."""
        ...

    def scoped(self, tool: str, given: Mapping[str, object], scope: Scope) -> Mapping[str, JsonValue]:
        """The arguments of a call as they may be sent.

        Raises ValidationError when they do not fit the schema, OutOfScope when they are not about the incident.
        """
        ...

    def gaps(self, entries: Sequence[Entry]) -> tuple[str, ...]:
        """What the evidence was known to lack before anybody asked: every diagnosis repeats it."""
        ...

    def completed(self, diagnosis: Diagnosis, entries: Sequence[Entry]) -> Diagnosis:
        """With what was recorded of the subject before anybody asked, where the diagnosis does not say it itself."""
        ...

    def notes(self, entries: Sequence[Entry]) -> str:
        """What a chat model is told of the evidence at the start; empty when there is nothing to say."""
        ...

    def mismatch(self, incident: Incident, entries: Sequence[Entry]) -> str:
        """Why the answers are not about this incident's subject but about another of the same name; or empty."""
        ...

    def first_tools(self, alert: str) -> Sequence[str]:
        """The tools worth asking first, by what the alert says."""
        ...

    def names_told(self, text: str) -> Iterable[str]:
        """Names in free text that AWS itself wrote, in wordings nobody else uses: a diagnosis may repeat them."""
        ...

    def signature(self, diagnosis: Diagnosis) -> frozenset[str]:
        """What tells two faults of a subject apart: their kinds and the settings that show them, not logs or counts."""
        ...

    def conclude(
        self, entries: Sequence[Entry], gaps: Sequence[str] = (), *, alert: Mapping[str, object] | None = None
    ) -> Diagnosis | None:
        """What rules alone can prove from recorded answers. `alert` says what raised the incident."""
        ...
