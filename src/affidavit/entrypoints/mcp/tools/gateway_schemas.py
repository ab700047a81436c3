"""Tools as an AgentCore gateway takes them: those that only read, in schemas of types, properties and items alone."""

from collections.abc import Sequence
from typing import Any

from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.tools.schemas import input_schema
from affidavit.entrypoints.mcp.tools.tool import Tool


def gateway_tools(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "inputSchema": _plain(schema := input_schema(tool, has_debug=False), schema.get("$defs", {})),
        }
        for tool in tools
        if tool.scope is AccessScope.READ
    ]


def _plain(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """What the gateway cannot say (choices, bounds, defaults) goes into the description; the tool checks it anyway."""
    found = _followed(schema, definitions)
    kind = str(found.get("type", "string"))
    plain: dict[str, Any] = {"type": kind}
    if said := _description(found):
        plain["description"] = said
    if kind == "object" and "properties" in found:
        plain["properties"] = {name: _plain(each, definitions) for name, each in found["properties"].items()}
    if found.get("required"):
        plain["required"] = list(found["required"])
    if kind == "array":
        plain["items"] = _plain(found.get("items", {}), definitions)
    return plain


def _followed(schema: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Behind references; of several choices the first, with the values of all of them."""
    own = {key: value for key, value in schema.items() if key not in ("$ref", "anyOf")}
    if "$ref" in schema:
        return _followed(definitions[schema["$ref"].rpartition("/")[2]], definitions) | own
    choices = [_followed(each, definitions) for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if not choices:
        return schema
    values = [value for choice in choices for value in _values(choice)]
    return choices[0] | ({"enum": values} if values else {}) | own


def _values(schema: dict[str, Any]) -> list[Any]:
    return [schema["const"]] if "const" in schema else list(schema.get("enum", ()))


def _description(schema: dict[str, Any]) -> str:
    said = [str(schema["description"])] if "description" in schema else []
    if "enum" in schema:
        said.append(f"One of {', '.join(map(str, schema['enum']))}.")
    if schema.get("default") is not None:
        said.append(f"Default {schema['default']}.")
    return " ".join(said)
