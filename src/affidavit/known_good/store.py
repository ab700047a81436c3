"""Keeps known-good states: each an object under its digest, and a row with when it was good and who says so."""

import hashlib
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from affidavit.errors import EvidenceUnavailable, NotFound
from affidavit.known_good.function_state_reading import FunctionState
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.object_store import ObjectMissing, ObjectStore
from affidavit.ports.table import Absent, ConditionFailed, Key, Put, Table, Update

PREFIX = "baselines/"
PURPOSE = "baselines"
_FUNCTIONS = "KNOWN_GOOD"
_DIGEST_KEY = Key(pk=_FUNCTIONS, sk="#digest-key")


class Vouch(StrEnum):
    """Who says that a state is good."""

    PERSON = "person"
    WATCHDOG = "watchdog"


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownGood:
    """One state that was good from `captured_at` on, and was seen again until `seen_at`."""

    function_arn: str
    sha256: str
    captured_at: datetime
    seen_at: datetime
    vouched_by: Vouch

    @property
    def key(self) -> str:
        return object_key(self.function_arn, self.sha256)


@dataclass(frozen=True, kw_only=True)
class KnownGoodStore:
    objects: ObjectStore
    table: Table
    clock: Clock

    def keep(self, state: FunctionState, vouched_by: Vouch) -> KnownGood:
        """The newest state of its function from now on. The same state again only moves `seen_at`."""
        self.objects.put_new(object_key(state.function_arn, state.sha256), state.data, purpose=PURPOSE)
        now, last = self.clock.now(), self.latest(state.function_arn)
        is_same = last is not None and last.sha256 == state.sha256
        kept = KnownGood(
            function_arn=state.function_arn,
            sha256=state.sha256,
            captured_at=last.captured_at if last is not None and is_same else now,
            seen_at=now,
            vouched_by=last.vouched_by if last is not None and is_same else vouched_by,
        )
        self.table.write_all([Put(item=_row(kept)), Put(item={"pk": _FUNCTIONS, "sk": state.function_arn})])
        return kept

    def functions(self) -> Sequence[str]:
        """ARNs of the functions that have a known-good state."""
        return [str(row["sk"]) for row in self.table.query(_FUNCTIONS) if row["sk"] != _DIGEST_KEY.sk]

    def arn_of(self, name: str) -> str:
        """The function of this name or ARN. Raises NotFound when no state of it is kept."""
        found = [arn for arn in self.functions() if name in (arn, arn.rsplit(":", 1)[-1])]
        if len(found) != 1:
            why = "no known-good state of it is kept" if not found else f"{len(found)} functions have this name"
            raise NotFound(f"{name}: {why}", hint="`affidavit baseline list` shows those that are")
        return found[0]

    def history(self, function_arn: str) -> Sequence[KnownGood]:
        """Newest first."""
        return [_known_good(row) for row in self.table.query(_pk(function_arn), newest_first=True)]

    def latest(self, function_arn: str) -> KnownGood | None:
        rows = self.table.query(_pk(function_arn), newest_first=True, limit=1)
        return _known_good(rows[0]) if rows else None

    def document(self, kept: KnownGood) -> Item:
        """Raises EvidenceUnavailable when the object is gone or is not what was captured."""
        try:
            data = self.objects.get(kept.key)
        except ObjectMissing as error:
            raise EvidenceUnavailable(
                f"{kept.key} is gone", hint="capture the function again once it is well"
            ) from error
        if hashlib.sha256(data).hexdigest() != kept.sha256:
            raise EvidenceUnavailable(
                f"{kept.key} was changed after it was captured", hint="do not restore from it; look for who changed it"
            )
        return json.loads(data)

    def digest_key(self) -> bytes:
        """The key of this deployment's digests, made once. It lies apart from them: without it a short secret could be
        guessed from its digest."""
        row = self.table.get(_DIGEST_KEY) or self._new_digest_key()
        return bytes.fromhex(str(row["secret"]))

    def _new_digest_key(self) -> Item:
        made = {"pk": _DIGEST_KEY.pk, "sk": _DIGEST_KEY.sk, "secret": secrets.token_hex(32)}
        try:
            self.table.write(Put(item=made, when=Absent()))
        except ConditionFailed:
            return self.table.get(_DIGEST_KEY) or made
        return made

    def note_candidate(self, state: FunctionState) -> datetime:
        """Since when this state has been seen without a change between two looks."""
        key = Key(pk=f"{_pk(state.function_arn)}#candidate", sk="state")
        row, now = self.table.get(key), self.clock.now()
        if row is not None and row["sha256"] == state.sha256:
            return datetime.fromisoformat(str(row["since"]))
        self.table.write(Update(key=key, set={"sha256": state.sha256, "since": now.isoformat()}))
        return now


def object_key(function_arn: str, sha256: str) -> str:
    return f"{PREFIX}{function_arn.replace(':', '_')}/{sha256}.json"


def _pk(function_arn: str) -> str:
    return f"KNOWN_GOOD#{function_arn}"


def _row(kept: KnownGood) -> Item:
    return {
        "pk": _pk(kept.function_arn),
        "sk": kept.captured_at.isoformat(),
        "function_arn": kept.function_arn,
        "sha256": kept.sha256,
        "seen_at": kept.seen_at.isoformat(),
        "vouched_by": kept.vouched_by.value,
    }


def _known_good(row: Item) -> KnownGood:
    return KnownGood(
        function_arn=str(row["function_arn"]),
        sha256=str(row["sha256"]),
        captured_at=datetime.fromisoformat(str(row["sk"])),
        seen_at=datetime.fromisoformat(str(row["seen_at"])),
        vouched_by=Vouch(str(row["vouched_by"])),
    )
