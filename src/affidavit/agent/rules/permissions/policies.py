"""Reads what policy documents say about one action on one resource. A statement with a condition stays open.

This explains a denial the logs already show; it is no authorizer, and IAM's own simulator is believed first.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any, cast

from affidavit.agent.rules.fault import proofs
from affidavit.agent.rules.ledger_facts import IAM, Facts
from affidavit.evidence.diagnosis import EvidencePointer

Document = Mapping[str, Any]


class Says(StrEnum):
    ALLOWS = "allows"
    DENIES = "denies"
    SILENT = "silent"
    OPEN = "open"
    """A statement matches but hangs on a condition."""


@dataclass(frozen=True, kw_only=True)
class PolicyStatement:
    """`place` is its position as JSON Pointer parts inside the document."""

    place: tuple[str, ...]
    effect: str
    body: Document


def statements(document: Document) -> Iterator[PolicyStatement]:
    listed = document.get("Statement")
    if isinstance(listed, Mapping):
        yield _statement(("Statement",), listed)  # pyright: ignore[reportUnknownArgumentType] - JSON from outside
    elif isinstance(listed, list):
        for number, body in enumerate(cast("list[Any]", listed)):
            if isinstance(body, Mapping):
                yield _statement(("Statement", str(number)), body)  # pyright: ignore[reportUnknownArgumentType] - same


def _statement(place: tuple[str, ...], body: Document) -> PolicyStatement:
    return PolicyStatement(place=place, effect=str(body.get("Effect", "")), body=body)


def identity_documents(facts: Facts) -> list[Document]:
    return [*facts.iam.get("inline_policies", {}).values(), *facts.iam.get("attached_policy_documents", {}).values()]


def near_grants(facts: Facts, action: str) -> tuple[EvidencePointer, ...]:
    """Points at what the role's inline policies allow for the same service."""
    found = [
        facts.point(IAM, "inline_policies", name, *one.place, "Action", 0, shows=f"What {name} allows.")
        for name, document in facts.iam.get("inline_policies", {}).items()
        for one in statements(document)
        if action.partition(":")[0] in json.dumps(one.body)
    ]
    return proofs(*found[:3])


def judge(documents: Iterable[Document], action: str, resource: str | None) -> Says:
    """All documents together, as policies of one identity add up. A resource of None matches any."""
    verdicts = {_verdict(one) for one in matching(documents, action, resource)}
    for said in (Says.DENIES, Says.ALLOWS, Says.OPEN):
        if said in verdicts:
            return said
    return Says.SILENT


def matching(documents: Iterable[Document], action: str, resource: str | None) -> list[PolicyStatement]:
    return [
        statement for document in documents for statement in statements(document) if covers(statement, action, resource)
    ]


def covers(statement: PolicyStatement, action: str, resource: str | None) -> bool:
    return _covers_action(statement.body, action) and _covers_resource(statement.body, resource)


def _verdict(statement: PolicyStatement) -> Says:
    if statement.body.get("Condition"):
        return Says.OPEN
    return Says.DENIES if statement.effect == "Deny" else Says.ALLOWS


def _covers_action(body: Document, action: str) -> bool:
    # Action names are not case-sensitive; resource names are.
    wanted = action.lower()
    if "NotAction" in body:
        return not any(fnmatchcase(wanted, name.lower()) for name in texts(body["NotAction"]))
    return any(fnmatchcase(wanted, name.lower()) for name in texts(body.get("Action")))


def _covers_resource(body: Document, resource: str | None) -> bool:
    if resource is None or ("Resource" not in body and "NotResource" not in body):
        return True
    if "NotResource" in body:
        return not any(_glob(resource, name) for name in texts(body["NotResource"]))
    return any(_glob(resource, name) for name in texts(body["Resource"]))


def _glob(text: str, pattern: str) -> bool:
    # fnmatch also reads [] as a set of characters, which policies do not.
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def texts(value: object) -> list[str]:
    """One text or a list of them, as policies allow; anything else says nothing."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [one for one in cast("list[object]", value) if isinstance(one, str)]
    return []
