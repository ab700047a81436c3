"""What the pages of the console need, built once from an app. Only an executor that was lent can act on AWS."""

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from affidavit.bootstrap import App, build_library
from affidavit.entrypoints.console.access.actions_log import ActionsLog
from affidavit.entrypoints.console.access.oidc import OidcLogin
from affidavit.entrypoints.console.access.person import Person
from affidavit.entrypoints.console.access.sessions import ConsoleSessions, OneTime
from affidavit.entrypoints.console.access.share_links import Shares
from affidavit.entrypoints.console.critical_node_counts import NodeCounts
from affidavit.entrypoints.console.plans.plan_listing import waiting
from affidavit.entrypoints.console.plans.repair_services import Lent, Repairs, signed_in, stored_plans, stored_repairs
from affidavit.entrypoints.console.rendering import templates
from affidavit.entrypoints.reverification_wiring import rereading
from affidavit.incidents.incident import IncidentId
from affidavit.incidents.reading.diagnosis_reverification import Reread, Rereading, Rereads
from affidavit.incidents.reading.listing import IncidentListing
from affidavit.incidents.store.state import IncidentState, not_known
from affidavit.incidents.store.stored_diagnoses import IncidentContext
from affidavit.nodes.library.lru import LruCache
from affidavit.ports.table import Table
from affidavit.redaction.redact import Redactor
from affidavit.remediation.approvals.people import Approver
from affidavit.remediation.record.store import PlanStore

if TYPE_CHECKING:
    from affidavit.nodes.library.indexed_bundles import Library

LOGIN_TIME = timedelta(minutes=10)
_REPORTS_KEPT = 16


@dataclass(frozen=True, kw_only=True)
class ReadIncident:
    """An incident with everything that is stored about it. `reread` is None while there is nothing to prove."""

    state: IncidentState
    context: IncidentContext | None
    reread: Reread | None

    @property
    def ledger(self) -> tuple[str, ...]:
        return self.state.ledger if self.state.status.is_open or self.context is None else self.context.ledger


@dataclass(frozen=True, kw_only=True)
class ConsoleServices:
    """`session_table` holds sessions and what people did here; a laptop has one of its own, so that a link which
    opens a laptop's console opens no other. `hosts` are names this server may be called by besides loopback;
    `is_long_lived` is false behind Lambda: nothing streams, and nothing runs on after an answer. `lent` brings an
    executor, which only a command has."""

    app: App
    session_table: Table
    takes_links: bool = False
    hosts: tuple[str, ...] = ()
    oidc: OidcLogin | None = None
    is_long_lived: bool = True
    lent: Lent | None = None

    @cached_property
    def sessions(self) -> ConsoleSessions:
        return ConsoleSessions(self.session_table, self.app.clock)

    @cached_property
    def laptop_links(self) -> OneTime:
        """Links that `affidavit console` prints."""
        return OneTime(self.session_table, self.app.clock, use="link", lifetime=LOGIN_TIME)

    @cached_property
    def actions(self) -> ActionsLog:
        return ActionsLog(self.session_table, self.app.clock)

    @cached_property
    def shares(self) -> Shares:
        return Shares(self.session_table, self.app.clock)

    @cached_property
    def rereading(self) -> Rereading:
        return rereading(self.app)

    @cached_property
    def rereads(self) -> Rereads:
        keep = timedelta(days=self.app.settings.incident_ttl_days)
        return Rereads(self.app.incident_context, self.app.clock, keep=keep)

    @cached_property
    def listing(self) -> IncidentListing:
        return IncidentListing(states=self.rereading.states, contexts=self.rereading.contexts)

    @cached_property
    def plans(self) -> PlanStore:
        return stored_plans(self.app)

    @cached_property
    def repairs(self) -> Repairs:
        return self.lent() if self.lent is not None else stored_repairs(self.app)

    def plans_waiting(self) -> int:
        return len(waiting(self.plans, self.app.clock.now()))

    def approver(self, person: Person) -> Approver:
        """Who decides on repairs: whom the issuer signed, or whom AWS names. Raises InputRefused."""
        return signed_in(person) if self.oidc is not None else self.repairs.on_this_machine()

    @cached_property
    def redactor(self) -> Redactor:
        return Redactor(hides_personal=self.app.settings.enable_pii_redaction)

    @cached_property
    def library(self) -> "Library":
        return build_library(self.app, redactor=self.redactor)

    @cached_property
    def node_counts(self) -> NodeCounts:
        return NodeCounts(lambda: self.library, is_long_lived=self.is_long_lived)

    @cached_property
    def reports(self) -> LruCache[tuple[str | int, ...], bytes]:
        """Reports of nodes, compressed, as they were made a moment ago."""
        return LruCache(_REPORTS_KEPT)

    def prepare(self) -> None:
        """Loads what a first page needs, so that nobody waits for it: patterns of secrets, templates, rules."""
        self.hide("any text")
        for name in templates().list_templates():
            templates().get_template(name)
        self.node_counts.totals()

    def hide(self, text: str) -> str:
        return self.redactor.known(text).text

    def incident(self, incident_id: str) -> ReadIncident:
        """Raises NotFound."""
        state = self.rereading.states.get_state(IncidentId(incident_id))
        if state is None:
            raise not_known(IncidentId(incident_id))
        context = self.rereading.contexts.get_context(IncidentId(incident_id))
        return ReadIncident(state=state, context=context, reread=self.rereads.latest(state, context))
