"""Captures known-good states: on a person's word, and by the watchdog after good runs on an unchanged state."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from affidavit.errors import AffidavitError, Conflict
from affidavit.known_good.function_run_counts import RunCounts, runs_between
from affidavit.known_good.function_state_reading import FunctionState, read_state
from affidavit.known_good.state_differences import unread_places
from affidavit.known_good.store import KnownGood, KnownGoodStore, Vouch
from affidavit.ports.workload_inspector import StateInspector

# A failure this recent speaks against calling the state good.
RECENT = timedelta(minutes=15)
# The watchdog judges by the runs of at most this long.
JUDGED = timedelta(hours=1)

Troubled = Callable[[str], bool]
"""Whether a function, by name, has an open incident."""


@dataclass(frozen=True, kw_only=True)
class Captured:
    kept: KnownGood
    state: FunctionState
    runs: RunCounts


class Watched(StrEnum):
    """What a round of the watchdog did with one function."""

    KEPT = "kept"
    WAITING = "waiting"
    """The state is new, or no run has gone well on it yet."""
    TROUBLED = "troubled"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class Captures:
    store: KnownGoodStore
    inspector: StateInspector

    def live(self, name: str) -> FunctionState:
        return read_state(self.inspector, name, digest_key=self.store.digest_key())

    def capture(self, name: str, *, troubled: Troubled, is_insisting: bool) -> Captured:
        """Keep the live state because a person says it is good. Raises Conflict when runs or incidents deny that."""
        now = self.store.clock.now()
        state, runs = self.live(name), runs_between(self.inspector, name, start=now - RECENT, end=now)
        if not is_insisting:
            _refuse_if_bad(name, runs, is_troubled=troubled(name))
        return Captured(kept=self.store.keep(state, Vouch.PERSON), state=state, runs=runs)

    def watch(self, names: Sequence[str], *, troubled: Troubled, until: datetime) -> dict[str, Watched]:
        """One round. A function that cannot be read does not keep the others from their turn."""
        done: dict[str, Watched] = {}
        for name in names:
            if self.store.clock.now() >= until:
                break
            try:
                done[name] = self._watch(name, troubled)
            except AffidavitError:
                done[name] = Watched.FAILED
        return done

    def _watch(self, name: str, troubled: Troubled) -> Watched:
        if troubled(name):
            return Watched.TROUBLED
        state = self.live(name)
        # A good run before a change says nothing about the state after it: only runs since the state was first seen do.
        now, since = self.store.clock.now(), self.store.note_candidate(state)
        runs = runs_between(self.inspector, name, start=max(since, now - JUDGED), end=now)
        if runs.is_failing:
            return Watched.TROUBLED
        if not runs.is_good or self._sees_less(state):
            return Watched.WAITING
        self.store.keep(state, Vouch.WATCHDOG)
        return Watched.KEPT

    def _sees_less(self, state: FunctionState) -> bool:
        """Whether a part could not be read that the last known-good state has: it must not be replaced by less."""
        last = self.store.latest(state.function_arn)
        had = unread_places(self.store.document(last)) if last is not None else unread_places(state.document)
        return not set(unread_places(state.document)) <= set(had)


def _refuse_if_bad(name: str, runs: RunCounts, *, is_troubled: bool) -> None:
    hint = "capture it once it is well; --anyway if you know that this state is good"
    if is_troubled:
        raise Conflict(f"{name} has an incident of the last day that is not repaired", hint=hint)
    if runs.is_failing:
        minutes = int(RECENT.total_seconds() // 60)
        said = f"{runs.errors:.0f} failed and {runs.throttles:.0f} throttled runs"
        raise Conflict(f"{name} had {said} in the last {minutes} minutes", hint=hint)
