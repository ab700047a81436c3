"""Calls as an AgentCore gateway makes them, and the schemas it is given."""

from types import SimpleNamespace
from typing import Any

import pytest

from affidavit.entrypoints.lambdas import on_gateway_call
from affidavit.entrypoints.mcp.scopes import AccessScope
from affidavit.entrypoints.mcp.tools.catalog import TOOLS
from affidavit.entrypoints.mcp.tools.gateway_schemas import gateway_tools

UNDERSTOOD = {"type", "description", "properties", "required", "items"}


@pytest.fixture(autouse=True)
def _local(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOGS_BUCKET", raising=False)
    monkeypatch.setenv("AFFIDAVIT_DATA", str(tmp_path))
    on_gateway_call._calls.cache_clear()


def called(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    context = SimpleNamespace(client_context=SimpleNamespace(custom={"bedrockAgentCoreToolName": f"nodes___{tool}"}))
    return on_gateway_call.handler(arguments, context)


def test_a_node_without_a_bundle_is_told_apart_from_a_healthy_one() -> None:
    answer = called("errors", {"instanceId": "i-0123456789abcdef0"})
    assert (answer["success"], answer["statusCode"]) == (False, 404)
    assert answer["hint"]


def test_bad_arguments_are_a_400_and_unknown_tools_a_404() -> None:
    assert called("errors", {"instanceId": "nonsense"})["statusCode"] == 400
    assert called("collect", {"instanceId": "i-0123456789abcdef0"})["statusCode"] == 404


def test_schemas_hold_only_what_a_gateway_understands() -> None:
    def check(schema: dict[str, Any]) -> None:
        assert set(schema) <= UNDERSTOOD
        for each in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
            check(each)

    tools = gateway_tools(TOOLS)
    assert {tool["name"] for tool in tools} == {tool.name for tool in TOOLS if tool.scope is AccessScope.READ}
    for tool in tools:
        check(tool["inputSchema"])
        assert tool["inputSchema"]["type"] == "object"


def test_choices_and_defaults_survive_in_the_description() -> None:
    errors = next(tool for tool in gateway_tools(TOOLS) if tool["name"] == "errors")
    severity = errors["inputSchema"]["properties"]["severity"]
    assert "critical" in severity["description"]
    assert "Default" in severity["description"]
