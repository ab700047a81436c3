"""The verdict on a node as answers carry it: bounded, every id citable with the answer's index_id."""

from datetime import datetime

from pydantic import Field

from affidavit.evidence.confidence import Level
from affidavit.evidence.diagnosis import FaultType
from affidavit.evidence.node_verdict import NodeVerdict, RootCause, Unexplained, VerdictState
from affidavit.wire.records import WireRecord

# Small on purpose: an answer of six kilobytes has room for findings, too. The index has all of it.
MOST_IDS = 5
MOST_CAUSES = 3


class RootCauseRecord(WireRecord):
    cause: str = Field(description="What is wrong.")
    fault_type: FaultType = Field(description="Its kind.")
    on: str | None = Field(description="Which pod, device, subnet … it is about, where lines name it.")
    since: datetime | None = Field(description="UTC; null when it was true at the collection and its start is unknown.")
    still_open: bool = Field(description="false when it was over before the collection.")
    evidence: list[str] = Field(description="Findings that show it; the first is the cause itself.")
    explains: list[str] = Field(description="Findings that follow from it, at most five.")
    explains_total: int = Field(description="How many follow from it.")
    confidence: Level = Field(description="How well this cause is borne out.")
    first_step: str = Field(description="What to do first.")

    @classmethod
    def of(cls, cause: RootCause) -> "RootCauseRecord":
        return cls(
            cause=cause.cause,
            fault_type=cause.fault_type,
            on=cause.on,
            since=cause.since,
            still_open=cause.still_open,
            evidence=list(cause.evidence[:MOST_IDS]),
            explains=list(cause.explains[:MOST_IDS]),
            explains_total=len(cause.explains),
            confidence=cause.confidence,
            first_step=cause.first_step,
        )


class UnexplainedRecord(WireRecord):
    what: str = Field(description="What no seen cause explains.")
    finding_ids: list[str] = Field(description="Findings that show it, at most five.")
    cause_unknown: bool = Field(description="true: it is usually an effect, and its cause is not in this bundle.")
    could_be: list[str] = Field(description="Causes that would explain it.")
    absent: list[str] = Field(description="Files that would tell and are not in this bundle.")

    @classmethod
    def of(cls, entry: Unexplained) -> "UnexplainedRecord":
        return cls(
            what=entry.what,
            finding_ids=list(entry.finding_ids[:MOST_IDS]),
            cause_unknown=entry.cause_unknown,
            could_be=[each.cause for each in entry.could_be[:MOST_CAUSES]],
            absent=list(entry.absent[:MOST_CAUSES]),
        )


class VerdictRecord(WireRecord):
    summary: str = Field(description="The verdict in a sentence or two.")
    state: VerdictState = Field(description="Of the node when the bundle was made.")
    root_causes: list[RootCauseRecord] = Field(description="At most three, the one that explains most first.")
    unexplained: list[UnexplainedRecord] = Field(description="At most three. No cause may be invented for these.")
    faults: int = Field(description="Distinct faults of medium or above, however many findings show them.")

    @classmethod
    def of(cls, verdict: NodeVerdict | None) -> "VerdictRecord | None":
        if verdict is None:
            return None
        return cls(
            summary=verdict.summary,
            state=verdict.state,
            root_causes=[RootCauseRecord.of(cause) for cause in verdict.root_causes[:MOST_CAUSES]],
            unexplained=[UnexplainedRecord.of(entry) for entry in verdict.unexplained[:MOST_CAUSES]],
            faults=verdict.faults,
        )
