"""A template as tests look at it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Statement:
    owner: str
    """The role's name, or the logical id of what the policy is on."""
    content: Json

    @property
    def actions(self) -> list[str]:
        return listed(self.content["Action"])

    @property
    def resources(self) -> list[str]:
        return [flat(each) for each in listed(self.content.get("Resource", []))]

    @property
    def is_allowing(self) -> bool:
        return self.content["Effect"] == "Allow"


@dataclass(frozen=True)
class Template:
    content: Json

    def of_type(self, kind: str) -> dict[str, Json]:
        return {name: each for name, each in self.content["Resources"].items() if each["Type"] == kind}

    def role_statements(self) -> Iterator[Statement]:
        for policy in self.of_type("AWS::IAM::Policy").values():
            for role in policy["Properties"]["Roles"]:
                for statement in policy["Properties"]["PolicyDocument"]["Statement"]:
                    yield Statement(self._role_name(role), statement)

    def resource_statements(self) -> Iterator[Statement]:
        for name, each in self.content["Resources"].items():
            if each["Type"] == "AWS::IAM::Policy":
                continue
            for key in ("PolicyDocument", "KeyPolicy"):
                for statement in each.get("Properties", {}).get(key, {}).get("Statement", []):
                    yield Statement(name, chosen(statement))

    def _role_name(self, role: Json) -> str:
        return str(self.content["Resources"][role["Ref"]]["Properties"]["RoleName"])


def chosen(statement: Json) -> Json:
    """A statement that is there on a condition, as if it were met."""
    return statement["Fn::If"][1] if "Fn::If" in statement else statement


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def flat(value: Any) -> str:
    """An ARN with its references in angle brackets."""
    if isinstance(value, str):
        return value
    if "Fn::Join" in value:
        separator, parts = value["Fn::Join"]
        return separator.join(flat(part) for part in parts)
    if "Ref" in value:
        return f"<{value['Ref']}>"
    if "Fn::GetAtt" in value:
        return f"<{'.'.join(value['Fn::GetAtt'])}>"
    if "Fn::ImportValue" in value:
        return f"<import {value['Fn::ImportValue']}>"
    return json.dumps(value)
