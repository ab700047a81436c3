"""Remembers the newest incident of each subject, and which alerts joined it.

Opening an incident and remembering it are one transaction, so of a report and an alarm that arrive at the same moment
one opens the incident and the other joins it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import cast

from affidavit.evidence.incident_subject import SubjectKind
from affidavit.incidents.incident import Incident, IncidentId, Signal
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item, JsonValue
from affidavit.ports.table import Absent, AllOf, ConditionFailed, Equals, Key, Put, Table, Update, Write

_DUE = "alarm"
_WATCH = ("due", "due_at")
# An alarm usually goes back to OK a minute or two after its cause is gone.
LOOK_AGAIN_AFTER = timedelta(minutes=5)
WATCHED_FOR = timedelta(hours=2)


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmEpisode:
    """`fired` and `ok` say when which alarm went to ALARM and to OK, by a hash of its name.

    `version` changes with whatever an alarm does; reports alone do not stand in each other's way.
    """

    key: Key
    incident_id: IncidentId
    version: int = 0
    fired: Mapping[str, float] = field(default_factory=dict[str, float])
    ok: Mapping[str, float] = field(default_factory=dict[str, float])

    def has_fired(self, alarm: Incident) -> bool:
        return _alarm(alarm.signal_name) in self.fired

    def may_end(self, ok: Incident) -> bool:
        """Whether an OK is of this episode: one that is older than the alarm, late or replayed, is of another."""
        fired = self.fired.get(_alarm(ok.signal_name))
        return fired is not None and ok.occurred_at.timestamp() >= fired

    def was_ok(self, alarm: Incident) -> bool:
        """Whether it was OK after it fired into this episode."""
        name = _alarm(alarm.signal_name)
        return self.ok.get(name, 0.0) >= self.fired.get(name, 0.0) > 0.0


class Episodes:
    def __init__(self, table: Table, clock: Clock, *, keep: timedelta) -> None:
        self._table, self._clock, self._keep = table, clock, keep

    def current(self, alert: Incident) -> AlarmEpisode | None:
        """The newest episode of the alert's subject."""
        item = self._table.get(_key(alert))
        return None if item is None else _episode_of(item)

    def joined_to(self, incident_id: IncidentId) -> IncidentId | None:
        """The incident that this alert joined when it came first."""
        item = self._table.get(_joined_key(incident_id))
        return None if item is None else IncidentId(str(item["incident_id"]))

    def opening(self, alert: Incident, seen: AlarmEpisode | None) -> Write:
        """The write that makes this alert's incident the newest; it fails when an alarm was faster than `seen`."""
        is_alarm = alert.signal is Signal.ALARM
        version = 0 if seen is None else seen.version
        changes: dict[str, JsonValue] = {
            "incident_id": alert.incident_id,
            "version": version + int(is_alarm),
            "fired": {_alarm(alert.signal_name): alert.occurred_at.timestamp()} if is_alarm else {},
            "ok": {},
            "ttl": self._ttl(),
            **(self._watch() if is_alarm else {}),
        }
        when = Absent() if seen is None else Equals("version", version)
        return Update(key=_key(alert), set=changes, remove=() if is_alarm else _WATCH, when=when)

    def join(self, alert: Incident, episode: AlarmEpisode) -> bool:
        """Remember that the alert belongs to the episode's incident; False when the episode changed meanwhile."""
        joined = _joined_key(alert.incident_id)
        alias: dict[str, JsonValue] = {
            "pk": joined.pk,
            "sk": joined.sk,
            "incident_id": episode.incident_id,
            "ttl": self._ttl(),
        }
        writes: list[Write] = [Put(item=alias, when=Absent())]
        if alert.signal is Signal.ALARM:
            fired = {**episode.fired, _alarm(alert.signal_name): alert.occurred_at.timestamp()}
            writes.append(self._changed(episode, {"fired": fired, **self._watch()}))
        try:
            self._table.write_all(writes)
        except ConditionFailed:
            return False
        return True

    def note_ok(self, alarm: Incident) -> IncidentId | None:
        """Remember that an alarm that fired is OK again; nothing when the episode is not about it or just changed.

        Returns the incident when all of its alarms are OK now.
        """
        episode = self.current(alarm)
        if episode is None or not episode.may_end(alarm):
            return None
        ok = {**episode.ok, _alarm(alarm.signal_name): alarm.occurred_at.timestamp()}
        is_over = ok.keys() >= episode.fired.keys()
        try:
            self._table.write(self._changed(episode, {"ok": ok}, remove=_WATCH if is_over else ()))
        except ConditionFailed:
            return None  # a newer episode: it begins after this OK
        return episode.incident_id if is_over else None

    # --- alarms that did not go back to OK ---------------------------------------------------------------------------

    def watched(self, *, limit: int) -> list[AlarmEpisode]:
        """Episodes that are to be looked at again now."""
        items = self._table.due_before(_DUE, self._clock.now().timestamp(), limit=limit)
        return [_episode_of(item) for item in items if item.get("sk") == "episode"]

    def watch_on(self, episode: AlarmEpisode) -> None:
        """Look again later; no more when the alarm fired long ago."""
        age = self._clock.now().timestamp() - max(episode.fired.values(), default=0.0)
        if age > WATCHED_FOR.total_seconds():
            self.unwatch(episode)
        else:
            self._try(self._changed(episode, self._watch()))

    def unwatch(self, episode: AlarmEpisode) -> None:
        self._try(self._changed(episode, {}, remove=_WATCH))

    def _try(self, update: Update) -> None:
        try:
            self._table.write(update)
        except ConditionFailed:
            return  # the episode moved on, and whoever moved it said when to look

    def _watch(self) -> dict[str, JsonValue]:
        return {"due": _DUE, "due_at": round((self._clock.now() + LOOK_AGAIN_AFTER).timestamp(), 3)}

    def _changed(
        self, episode: AlarmEpisode, changes: Mapping[str, JsonValue], *, remove: tuple[str, ...] = ()
    ) -> Update:
        same = AllOf((Equals("version", episode.version), Equals("incident_id", episode.incident_id)))
        return Update(key=episode.key, set={**changes, "version": episode.version + 1}, remove=remove, when=same)

    def _ttl(self) -> int:
        return int((self._clock.now() + self._keep).timestamp())


def _key(alert: Incident) -> Key:
    if alert.subject.kind is SubjectKind.NODE:
        # There is one instance of an id, and not every sender of an alert knows the account.
        return Key(pk=f"subject#{alert.subject}", sk="episode")
    return Key(pk=f"subject#{alert.account}#{alert.region}#{alert.subject}", sk="episode")


def _joined_key(incident_id: IncidentId) -> Key:
    return Key(pk=f"incident#{incident_id}", sk="joined")


def _alarm(name: str) -> str:
    # Not the name itself: it is text of the sender's and may hold anything.
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def _episode_of(item: Item) -> AlarmEpisode:
    return AlarmEpisode(
        key=Key(pk=str(item["pk"]), sk=str(item["sk"])),
        incident_id=IncidentId(str(item["incident_id"])),
        version=int(cast("float", item.get("version") or 0)),
        fired=_times(item.get("fired")),
        ok=_times(item.get("ok")),
    )


def _times(value: JsonValue) -> Mapping[str, float]:
    times: Mapping[str, JsonValue] = value if isinstance(value, Mapping) else {}
    return {name: float(at) for name, at in times.items() if isinstance(at, int | float)}
