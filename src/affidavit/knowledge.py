"""Loads rules, checks and suppressions together, with one version."""

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from affidavit.checks.check import Check
from affidavit.checks.pack import load_checks, version_of
from affidavit.errors import InputRefused
from affidavit.rules.pack import CHECKS, RulePack, load_pack
from affidavit.rules.rule import Rule


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    pack: RulePack
    checks: tuple[Check, ...]

    @cached_property
    def version(self) -> str:
        """Changes exactly when a rule, a suppression or a check does."""
        return hashlib.sha256(f"{self.pack.version} {version_of(self.checks)}".encode()).hexdigest()[:16]

    @property
    def rules(self) -> tuple[Rule | Check, ...]:
        return (*self.pack.rules, *self.checks)

    def rule(self, rule_id: str) -> Rule | Check:
        for rule in self.rules:
            if rule.id == rule_id:
                return rule
        raise InputRefused(f"there is no rule {rule_id!r}")


def load_knowledge(overlay: Path | None = None) -> Knowledge:
    """The built-in catalogs; rule files of `overlay`, and checks in its folder `checks`, add to them or replace."""
    return _built_in() if overlay is None else _loaded(overlay)


@cache
def _built_in() -> Knowledge:
    return _loaded(None)


def _loaded(overlay: Path | None) -> Knowledge:
    pack = load_pack(overlay)
    own_checks = overlay / CHECKS if overlay is not None and (overlay / CHECKS).is_dir() else None
    checks = load_checks(own_checks)
    _refuse_shared(pack, checks)
    return Knowledge(pack=pack, checks=checks)


def _refuse_shared(pack: RulePack, checks: tuple[Check, ...]) -> None:
    ids, names = {rule.id for rule in pack.rules}, {rule.name for rule in pack.rules}
    for check in checks:
        if check.id in ids or check.name in names:
            raise InputRefused(f"check {check.id} has the id or the name of a rule", hint="findings must be told apart")
