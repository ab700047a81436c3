"""Re-reads what a plan rests on: the diagnosis, its evidence, and the sources of its arguments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from affidavit.errors import AffidavitError
from affidavit.evidence.citation_check import ByteSource
from affidavit.evidence.diagnosis import Diagnosis
from affidavit.incidents.store.blobs import Records
from affidavit.incidents.store.stored_diagnoses import IncidentContext, IncidentContexts
from affidavit.ports.argument_sources import ArgumentSource, ArgumentSources
from affidavit.remediation.plan.plan_record import Plan
from affidavit.remediation.plan.seal import sha256_of
from affidavit.verification.pointer_check import verify


class Citations(Protocol):
    def problems(self, plan: Plan) -> Iterator[str]:
        """What no longer re-reads, each a sentence. Raises UpstreamFailed when nobody could look."""
        ...


@dataclass(frozen=True, kw_only=True)
class StoredCitations:
    contexts: IncidentContexts
    records: Records
    sources: ArgumentSources
    lines: ByteSource | None = None

    def problems(self, plan: Plan) -> Iterator[str]:
        context = self.contexts.get_context(plan.incident_id)
        if context is None or context.diagnosis is None:
            yield f"incident {plan.incident_id} has no diagnosis any more"
            return
        yield from self._of_diagnosis(plan, context, context.diagnosis)
        for action in plan.actions:
            yield from self._of_source(action.source, action.target)

    def _of_diagnosis(self, plan: Plan, context: IncidentContext, diagnosis: Diagnosis) -> Iterator[str]:
        if diagnosis_digest(diagnosis) != plan.diagnosis_sha256:
            yield "the diagnosis is not the one that the plan was made from"
        try:
            verdict = verify(diagnosis, self.records.entries(context.ledger), self.lines)
        except AffidavitError as error:
            yield f"the evidence cannot be re-read: {error}"
        else:
            yield from verdict.all_problems

    def _of_source(self, source: ArgumentSource, target: str) -> Iterator[str]:
        try:
            said = self.sources.reread(source)
        except AffidavitError as error:
            yield f"{target}: the source {source.reference} cannot be re-read: {error}"
        else:
            if sha256_of(said.document) != source.sha256:
                yield f"{target}: the source {source.reference} does not say any more what it said"


def diagnosis_digest(diagnosis: Diagnosis) -> str:
    return sha256_of(diagnosis.model_dump(mode="json"))
