"""Keeps a node alive that an Auto Scaling group wants to end, and lets it go."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class HookAction:
    """One wait of one group for one instance, as Auto Scaling announced it."""

    group: str
    hook: str
    token: str
    instance_id: str
    region: str


class LifecycleHooks(Protocol):
    def heartbeat(self, action: HookAction) -> bool:
        """Ask the group to wait on; False when it no longer waits."""
        ...

    def go_on(self, action: HookAction) -> None:
        """Complete the action with CONTINUE. One that is over already stays so."""
        ...
