"""The tools as published hold every name, default and limit of contract.yaml."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.support.peers.mcp_server import calls_over

from affidavit.collection.execution_status import TASK_STATES
from affidavit.entrypoints.mcp.tool_errors import failure
from affidavit.entrypoints.mcp.tools.catalog import TOOLS
from affidavit.entrypoints.mcp.tools.schemas import input_schema, output_schema
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.errors import Conflict, InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.yaml_loading import load_yaml

CONTRACT: dict[str, Any] = load_yaml((Path(__file__).parent / "contract.yaml").read_text("utf-8"))
SAID: dict[str, Any] = CONTRACT["tools"]
BY_NAME = {tool.name: tool for tool in TOOLS}


def test_every_tool_is_in_the_contract() -> None:
    assert set(SAID) == set(BY_NAME)


@pytest.mark.parametrize("name", SAID)
def test_a_tool_takes_what_the_contract_names_with_its_defaults_and_limits(name: str) -> None:
    said, schema = SAID[name], input_schema(BY_NAME[name], has_debug=False)
    taken = schema["properties"]
    needed = {argument for argument, default in said["takes"].items() if default == "needed"}
    assert set(schema.get("required", [])) == needed
    for argument, default in said["takes"].items():
        assert argument in taken
        assert default == "needed" or taken[argument].get("default") == default, argument
    assert {argument: taken[argument]["maximum"] for argument in said.get("most", {})} == said.get("most", {})
    for argument, choices in said.get("choices", {}).items():
        assert sorted(taken[argument]["enum"]) == sorted(choices), argument
    for argument, names in said.get("inside", {}).items():
        assert set(names) <= set(taken[argument]["items"]["properties"]), argument


@pytest.mark.parametrize("name", SAID)
def test_a_tool_gives_what_the_contract_names_at_every_depth(name: str) -> None:
    schema = output_schema(BY_NAME[name], has_debug=False)
    assert list(missing(SAID[name]["gives"], schema, schema.get("$defs", {}))) == []


def missing(said: Mapping[str, Any], schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[str]:
    """Paths of the contract that no variant of the schema has."""
    records = [record["properties"] for record in variants(schema, definitions)]
    found: list[str] = []
    for name, inside in said.items():
        fields = [record[name] for record in records if name in record]
        if not fields:
            found.append(name)
        if inside:
            found += [
                f"{name}/{path}" for field in fields[:1] for path in missing(inside, {"anyOf": fields}, definitions)
            ]
    return found


def variants(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The records that this schema allows: behind references, choices and lists."""
    if "$ref" in schema:
        return variants(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    inner = [*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else [])]
    own = [schema] if "properties" in schema else []
    return own + [record for each in inner for record in variants(each, definitions)]


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.name in ("errors", "search", "correlate")])
def test_ids_have_their_pattern_and_excerpts_their_length(tool: Tool) -> None:
    text = json.dumps(output_schema(tool, has_debug=False))
    assert r"^(F-\\d{3,}|S-\\d{3,})$" in text and '"maxLength": 500' in text


@pytest.mark.parametrize("name", [name for name, said in SAID.items() if "also_takes" in said])
def test_an_argument_that_is_no_longer_published_is_still_known(name: str, tmp_path: Path) -> None:
    calls = calls_over(tmp_path)
    for argument in SAID[name]["also_takes"]:
        assert argument not in input_schema(BY_NAME[name], has_debug=False)["properties"]
        refused = calls.call(BY_NAME[name], {"executionId": "none", argument: True}).content
        assert "there is no such argument" not in str(refused["error"])


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("bad_input", InputRefused("x", hint="y")),
        ("nothing_there", NotFound("x", hint="y")),
        ("conflict", Conflict("x", hint="y")),
        ("upstream", UpstreamFailed("x", hint="y")),
        ("throttled", Throttled("x", hint="y")),
    ],
)
def test_errors_have_one_shape_and_the_code_of_their_kind(said: str, error: Exception) -> None:
    code = CONTRACT["error_codes"][said]
    assert failure(error, "errors") == {"success": False, "statusCode": code, "error": "x", "hint": "y"}


def test_every_state_of_ssm_is_a_state_of_a_task() -> None:
    told = {ssm: state for state, names in CONTRACT["task_states"].items() for ssm in names}
    assert {ssm: TASK_STATES[ssm].value for ssm in told} == told
