"""From settings to what a client is offered. No network is touched: clients of AWS are made when first used."""

import asyncio
from pathlib import Path

import mcp.types as types
import pytest
from mcp import Client

from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tools.catalog import COLLECTION, LAMBDA, NODES, TOOLS
from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset
from affidavit.entrypoints.mcp.wiring import Wish, build_calls
from affidavit.errors import InputRefused
from affidavit.settings import Settings

ON_AWS = {"LOGS_BUCKET": "logs", "AWS_REGION": "ca-central-1"}


def wired(tmp_path: Path, wish: Wish | None = None, **environment: str) -> Calls:
    return build_calls(Settings.from_environment({"AFFIDAVIT_DATA": str(tmp_path), **environment}), wish or Wish())


def names(*toolsets: tuple[Tool, ...]) -> set[str]:
    return {tool.name for tools in toolsets for tool in tools}


@pytest.mark.parametrize(
    ("environment", "offered"),
    [
        ({}, names(NODES)),
        ({"ENABLE_COLLECTION": "true"}, names(NODES)),
        (ON_AWS, names(NODES, LAMBDA)),
        ({**ON_AWS, "ENABLE_COLLECTION": "false"}, names(NODES, LAMBDA)),
        ({**ON_AWS, "ENABLE_COLLECTION": "true"}, names(NODES, LAMBDA, COLLECTION)),
    ],
)
def test_collecting_is_offered_only_where_it_is_switched_on(
    tmp_path: Path, environment: dict[str, str], offered: set[str]
) -> None:
    assert set(wired(tmp_path, **environment).tools) == offered


def test_a_toolset_that_is_asked_for_is_the_only_one_and_never_more_than_is_allowed(tmp_path: Path) -> None:
    only = Wish(toolsets=frozenset({Toolset.LAMBDA}))
    assert set(wired(tmp_path, only, **ON_AWS).tools) == names(LAMBDA)
    with pytest.raises(InputRefused, match="ENABLE_COLLECTION"):
        wired(tmp_path, Wish(toolsets=frozenset({Toolset.COLLECTION})), **ON_AWS)


def test_a_folder_of_bundles_is_served_without_aws_whatever_the_settings_say(tmp_path: Path) -> None:
    (tmp_path / "bundles").mkdir()
    calls = wired(tmp_path, Wish(bundles=tmp_path / "bundles"), **ON_AWS, ENABLE_COLLECTION="true")
    assert set(calls.tools) == names(NODES)


@pytest.mark.parametrize("is_on", [True, False])
def test_personal_data_and_the_debug_envelope_follow_their_settings(tmp_path: Path, is_on: bool) -> None:
    chosen = {"ENABLE_PII_REDACTION": "true", "ENABLE_DEBUG_ENVELOPE": "true"} if is_on else {}
    calls = wired(tmp_path, **chosen)
    assert (calls.redactor.hides_personal, calls.allows_debug) == (is_on, is_on)


def test_a_client_is_told_which_tools_only_read(tmp_path: Path) -> None:
    async def listed() -> list[types.Tool]:
        async with Client(build_server(wired(tmp_path, **ON_AWS, ENABLE_COLLECTION="true"))) as client:
            return (await client.list_tools()).tools

    acting = {tool.name for tool in asyncio.run(listed()) if tool.annotations and not tool.annotations.read_only_hint}
    assert acting == {"collect", "batch_collect", "cancel"} == {tool.name for tool in TOOLS if tool.acts}
