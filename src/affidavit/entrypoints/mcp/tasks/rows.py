"""Tasks as rows of the state table: any process of the server can answer for any of them, also after a restart."""

import json
import secrets
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from affidavit.errors import NotFound
from affidavit.ports.clock import Clock
from affidavit.ports.json import Item
from affidavit.ports.table import Absent, ConditionFailed, Equals, Key, Put, Table

LIFE: Final = timedelta(hours=48)
WORKING: Final = "working"


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """`content` is the answer of the call that began it, then, once it has ended, its result."""

    task_id: str
    tool: str
    owner: str
    status: str
    message: str
    created: datetime
    updated: datetime
    content: dict[str, Any]

    @property
    def has_ended(self) -> bool:
        return self.status != WORKING


@dataclass(frozen=True, kw_only=True)
class TaskRows:
    state: Table
    clock: Clock

    def add(self, *, tool: str, owner: str, status: str, message: str, content: dict[str, Any]) -> TaskRow:
        now = self.clock.now()
        row = TaskRow(
            task_id=secrets.token_urlsafe(24),
            tool=tool,
            owner=owner,
            status=status,
            message=message,
            created=now,
            updated=now,
            content=content,
        )
        self.state.write(Put(item=_item(row), when=Absent()))
        return row

    def get(self, task_id: str, owner: str) -> TaskRow:
        """Somebody else's task is as unknown as none."""
        item = self.state.get(_key(task_id))
        if item is None or item.get("owner") != owner:
            raise NotFound("there is no such task", hint="tasks are kept for 48 hours")
        return _row(item)

    def change(self, row: TaskRow, *, status: str, message: str, content: dict[str, Any]) -> TaskRow:
        """Of several that saw it end, the first decides: what has ended never changes again."""
        changed = replace(row, status=status, message=message, content=content, updated=self.clock.now())
        try:
            self.state.write(Put(item=_item(changed), when=Equals("status", WORKING)))
        except ConditionFailed:
            return self.get(row.task_id, row.owner)
        return changed


def _key(task_id: str) -> Key:
    return Key(pk=f"MCPTASK#{task_id}", sk="TASK")


def _item(row: TaskRow) -> Item:
    key = _key(row.task_id)
    return {
        "pk": key.pk,
        "sk": key.sk,
        "task_id": row.task_id,
        "tool": row.tool,
        "owner": row.owner,
        "status": row.status,
        "message": row.message,
        "created": row.created.isoformat(),
        "updated": row.updated.isoformat(),
        "content": json.dumps(row.content),
        "ttl": int((row.created + LIFE).timestamp()),
    }


def _row(item: Item) -> TaskRow:
    return TaskRow(
        task_id=str(item["task_id"]),
        tool=str(item["tool"]),
        owner=str(item["owner"]),
        status=str(item["status"]),
        message=str(item["message"]),
        created=datetime.fromisoformat(str(item["created"])),
        updated=datetime.fromisoformat(str(item["updated"])),
        content=json.loads(str(item["content"])),
    )
