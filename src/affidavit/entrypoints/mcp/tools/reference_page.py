"""`docs/reference/tools.md`, out of the table of tools."""

from collections.abc import Iterator
from typing import Any

from affidavit.entrypoints.mcp.tasks.followed_collections import FOLLOWED
from affidavit.entrypoints.mcp.tools.catalog import tools_of
from affidavit.entrypoints.mcp.tools.schemas import input_schema, output_schema
from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset

_ABOUT = {
    Toolset.NODES: "Questions about node bundles.",
    Toolset.COLLECTION: "Collecting bundles from nodes; off unless enabled.",
    Toolset.LAMBDA: "Questions about Lambda functions.",
}


def tools_page() -> Iterator[str]:
    yield "# Tools of the MCP server"
    yield ""
    yield "What `affidavit mcp` offers ([how to run it](../mcp.md)). Every answer also has `success`, and `redacted`"
    yield "with what was hidden in it; errors have one shape."
    for toolset in Toolset:
        yield from ("", f"## {toolset}", "", _ABOUT[toolset])
        for tool in tools_of(frozenset({toolset})):
            yield from _tool(tool)


def _tool(tool: Tool) -> Iterator[str]:
    said, _, example = tool.description.partition("Example: ")
    yield from ("", f"### {tool.name}", "", f"**{tool.title}** ({', '.join(_traits(tool))}). {_text(said.strip())}")
    if example:
        yield from ("", "```json", example, "```")
    yield from ("", "| argument | type | default | |", "| --- | --- | --- | --- |")
    schema = input_schema(tool, has_debug=False)
    for name, field in schema["properties"].items():
        default = "needed" if name in schema.get("required", []) else _default(field)
        yield f"| `{name}` | {_type(field, schema)} | {default} | {_text(field.get('description', ''))} |"
    answer = ", ".join(f"`{name}`" for name in output_schema(tool, has_debug=False)["properties"])
    yield from ("", f"Answers {answer}.")


def _traits(tool: Tool) -> Iterator[str]:
    yield "acts on a node" if tool.acts else "only reads"
    if tool.name in FOLLOWED:
        yield "can run as a task"


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    return "" if value is None else f"`{value}`"


def _type(field: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in field:
        return _type(schema["$defs"][field["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in field:
        kinds = [_type(each, schema) for each in field["anyOf"] if each.get("type") != "null"]
        return " or ".join(kinds)
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if "const" in field:
        return f"`{field['const']}`"
    kind = str(field.get("type", "any"))
    return f"list of {_type(field.get('items', {}), schema)}" if kind == "array" else kind


def _text(text: str) -> str:
    """As a cell of a table: one line, and nothing that Markdown would take for its own."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "\\<").replace("*", "\\*")
