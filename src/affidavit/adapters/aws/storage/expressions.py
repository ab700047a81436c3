"""Conditions and updates in DynamoDB's expression language. An expired item counts as absent in each of them."""

from typing import Any, assert_never

from affidavit.adapters.aws.storage.attribute_values import Attribute, to_attribute
from affidavit.ports.json import JsonValue
from affidavit.ports.table import Absent, AllOf, AnyOf, AtMost, Condition, Equals, Lacks, Present, Update


class Expressions:
    """Collects names and values of one request. All names are placeholders: hundreds of words are reserved."""

    def __init__(self, now: float) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, Attribute] = {}
        self._now = now

    def condition(self, condition: Condition) -> str:
        match condition:
            case Absent():
                return self._expired()
            case Present():
                return self._live()
            case AllOf(conditions=()):
                return "attribute_exists(pk) OR attribute_not_exists(pk)"
            case AnyOf(conditions=()):
                return "attribute_exists(pk) AND attribute_not_exists(pk)"
            case AllOf(conditions=(only,)) | AnyOf(conditions=(only,)):
                return self.condition(only)  # DynamoDB refuses brackets around brackets
            case AllOf(conditions=parts):
                return " AND ".join(f"({self.condition(part)})" for part in parts)
            case AnyOf(conditions=parts):
                return " OR ".join(f"({self.condition(part)})" for part in parts)
            case _:
                return f"({self._live()}) AND {self._comparison(condition)}"

    def update(self, update: Update) -> str:
        clauses = {
            "SET": [f"{self._name(name)} = {self._value(value)}" for name, value in update.set.items()],
            "ADD": [f"{self._name(name)} {self._value(value)}" for name, value in update.add.items()],
            "REMOVE": [self._name(name) for name in update.remove],
        }
        return " ".join(f"{verb} {', '.join(parts)}" for verb, parts in clauses.items() if parts)

    def update_condition(self, condition: Condition | None) -> str:
        """An update keeps what it does not name, so it must not meet an expired item at all."""
        unexpired = f"attribute_not_exists(pk) OR {self._unexpired()}"
        return unexpired if condition is None else f"({unexpired}) AND ({self.condition(condition)})"

    def expired_only(self) -> str:
        return f"{self._name('ttl')} <= {self._value(self._now)}"

    def arguments(self) -> dict[str, Any]:
        found = {"ExpressionAttributeNames": self._names, "ExpressionAttributeValues": self._values}
        return {name: values for name, values in found.items() if values}

    def _comparison(self, condition: Equals | AtMost | Lacks) -> str:
        match condition:
            case Equals(attribute=name, value=value):
                return f"{self._name(name)} = {self._value(value)}"
            case AtMost(attribute=name, value=value):
                return f"{self._name(name)} <= {self._value(value)}"
            case Lacks(attribute=name):
                return f"attribute_not_exists({self._name(name)})"
            case _:
                assert_never(condition)

    def _expired(self) -> str:
        return f"attribute_not_exists(pk) OR {self.expired_only()}"

    def _live(self) -> str:
        return f"attribute_exists(pk) AND {self._unexpired()}"

    def _unexpired(self) -> str:
        ttl = self._name("ttl")
        return f"(attribute_not_exists({ttl}) OR {ttl} > {self._value(self._now)})"

    def _name(self, name: str) -> str:
        known = {attribute: placeholder for placeholder, attribute in self._names.items()}
        placeholder = known.get(name, f"#n{len(self._names)}")
        self._names[placeholder] = name
        return placeholder

    def _value(self, value: JsonValue) -> str:
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = to_attribute(value)
        return placeholder
