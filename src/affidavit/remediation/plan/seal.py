"""Seals a plan: sha256 over the canonical JSON (RFC 8785) of all of it."""

import hashlib
import json
from typing import Any, NewType, cast

import rfc8785
from pydantic import TypeAdapter, ValidationError

from affidavit.errors import InputRefused, InvariantBroken
from affidavit.ports.json import Item, JsonValue
from affidavit.remediation.plan.plan_record import Plan, Precondition

Seal = NewType("Seal", str)
# What a person types to approve: enough that nobody hits it by chance, few enough to type.
TYPED_CHARACTERS = 8

_PLAN = TypeAdapter(Plan)


def canonical_bytes(value: JsonValue) -> bytes:
    """One byte string for one JSON value. Raises InputRefused for numbers that JSON cannot carry exactly."""
    try:
        return rfc8785.dumps(cast("Any", value))
    except rfc8785.CanonicalizationError as error:
        raise InputRefused(
            f"this has no canonical form: {error}", hint="a number is too large or not finite"
        ) from error


def sha256_of(value: JsonValue) -> str:
    return hashlib.sha256(canonical_bytes(value)).hexdigest()


def precondition_of(state: Item) -> Precondition:
    return Precondition(state=state, sha256=sha256_of(state))


def plan_bytes(plan: Plan) -> bytes:
    """The bytes that are sealed, stored and shown."""
    return canonical_bytes(_PLAN.dump_python(plan, mode="json"))


def seal_of(plan: Plan) -> Seal:
    return seal_of_bytes(plan_bytes(plan))


def seal_of_bytes(data: bytes) -> Seal:
    return Seal(hashlib.sha256(data).hexdigest())


def plan_from_bytes(data: bytes, seal: str) -> Plan:
    """The plan that these bytes say. Raises InvariantBroken when they are not those that were sealed."""
    if seal_of_bytes(data) != seal:
        raise InvariantBroken("the stored plan is not the one that was sealed", hint="propose again; look who wrote it")
    try:
        plan = _PLAN.validate_python(json.loads(data))
    except (ValueError, ValidationError) as error:
        raise InvariantBroken("the sealed plan cannot be read", hint="it was made by another version") from error
    # What is executed is the record, not the bytes: both must say the same.
    if plan_bytes(plan) != data:
        raise InvariantBroken("the sealed plan says more than can be read of it", hint="propose again")
    return plan


def typed_part(seal: Seal) -> str:
    return seal[-TYPED_CHARACTERS:]
