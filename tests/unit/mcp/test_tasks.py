"""Tasks of both eras through the real client and server; the fleet behind them is in memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mcp.types as types
import pytest
from mcp import Client, MCPError
from tests.support.faults import Boundaries, FailingTable
from tests.support.fleet import CLUSTER, NODE, Fleet
from tests.support.peers.mcp_server import CancelTask, GetTask, TaskId, TasksClient, TaskState, calls_over

from affidavit.entrypoints.mcp.server import build_server
from affidavit.errors import Throttled


@pytest.fixture
def fleet(tmp_path: Path) -> Fleet:
    return Fleet(tmp_path)


def serve(fleet: Fleet, tmp_path: Path) -> Any:
    return build_server(calls_over(tmp_path, fleet=fleet))


def modern(fleet: Fleet, tmp_path: Path, talk: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(serve(fleet, tmp_path), extensions=[TasksClient()]) as client:
            await talk(client)

    asyncio.run(run())


async def begin(client: Client, tool: str = "collect", **arguments: object) -> Any:
    given = arguments or {"instanceId": NODE}
    return await client.session.call_tool(tool, given, allow_claimed=True)


async def get(client: Client, task_id: str) -> TaskState:
    return await client.session.send_request(GetTask(params=TaskId(task_id=task_id)), TaskState)


def test_collect_is_a_task_that_completes_when_it_is_collected_and_indexed(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        assert handle.status == "working"
        (execution,) = fleet.collector.executions
        fleet.collector.becomes(execution, "Success")
        assert (await get(client, handle.task_id)).status == "working"
        fleet.index.indexed.add(execution)
        done = await get(client, handle.task_id)
        assert done.status == "completed"
        result = types.CallToolResult.model_validate(done.result)
        assert result.structured_content["executionId"] == execution
        assert result.structured_content["task"]["state"] == "completed"
        (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == "collect"]
        __import__("jsonschema").validate(result.structured_content, tool.output_schema)

    modern(fleet, tmp_path, talk)


def test_another_process_answers_for_a_task(fleet: Fleet, tmp_path: Path) -> None:
    async def run() -> None:
        async with Client(serve(fleet, tmp_path), extensions=[TasksClient()]) as one:
            handle = await begin(one)
        (execution,) = fleet.collector.executions
        fleet.collector.becomes(execution, "Success")
        fleet.index.indexed.add(execution)
        async with Client(serve(fleet, tmp_path), extensions=[TasksClient()]) as other:
            assert (await get(other, handle.task_id)).status == "completed"

    asyncio.run(run())


def test_cancel_stops_the_execution_and_stays_cancelled(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        await client.session.send_request(CancelTask(params=TaskId(task_id=handle.task_id)), types.EmptyResult)
        (execution,) = fleet.collector.executions
        assert fleet.collector.stopped == [execution]
        assert (await get(client, handle.task_id)).status == "cancelled"
        fleet.collector.becomes(execution, "Success")
        fleet.index.indexed.add(execution)
        assert (await get(client, handle.task_id)).status == "cancelled"

    modern(fleet, tmp_path, talk)


def test_a_failed_collection_is_a_failed_task_that_says_why(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        (execution,) = fleet.collector.executions
        fleet.collector.becomes(execution, "Failed", failure="the disk is full")
        failed = await get(client, handle.task_id)
        assert failed.status == "failed"
        assert "the disk is full" in failed.error["message"]

    modern(fleet, tmp_path, talk)


def test_a_state_that_cannot_be_read_just_now_does_not_end_a_task(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        fleet.collector.find_fails = Throttled("slow down")
        assert (await get(client, handle.task_id)).status == "working"

    modern(fleet, tmp_path, talk)


def test_a_call_that_is_refused_is_answered_at_once(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        refused = await begin(client, instanceId="i-0aaaaaaaaaaaaaaaa")
        assert refused.is_error and json.loads(refused.content[0].text)["statusCode"] == 404

    modern(fleet, tmp_path, talk)


async def cancel(client: Client, task_id: str) -> None:
    await client.session.send_request(CancelTask(params=TaskId(task_id=task_id)), types.EmptyResult)


def test_a_cancel_that_could_not_stop_anything_is_an_error_and_ends_nothing(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        fleet.collector.stop_fails = Throttled("SSM asks to slow down")
        with pytest.raises(MCPError, match="could not be stopped: SSM asks to slow down") as refused:
            await cancel(client, handle.task_id)
        assert refused.value.error.data["hint"].startswith("cancel the task again")
        assert (await get(client, handle.task_id)).status == "working"
        fleet.collector.stop_fails = None
        await cancel(client, handle.task_id)
        assert (await get(client, handle.task_id)).status == "cancelled"

    modern(fleet, tmp_path, talk)


def test_a_task_that_is_cancelled_while_its_bundle_is_indexed_says_that_nothing_was_stopped(
    fleet: Fleet, tmp_path: Path
) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client)
        (execution,) = fleet.collector.executions
        fleet.collector.becomes(execution, "Success")
        await cancel(client, handle.task_id)
        assert fleet.collector.stopped == []
        cancelled = await get(client, handle.task_id)
        assert cancelled.status == "cancelled"
        assert "being indexed; there was nothing left to stop" in cancelled.status_message

    modern(fleet, tmp_path, talk)


def test_a_table_that_fails_is_told_with_what_to_do(fleet: Fleet, tmp_path: Path) -> None:
    async def run() -> None:
        calls = calls_over(tmp_path, fleet=fleet)
        failing = FailingTable(fleet.table, Boundaries(only=lambda boundary: boundary.endswith("get before")))
        calls = replace(calls, services=replace(calls.services, state=failing))
        async with Client(build_server(calls), extensions=[TasksClient()]) as client:
            handle = await begin(client)
            with pytest.raises(MCPError, match="scripted outage") as failed:
                await get(client, handle.task_id)
            assert failed.value.error.code == types.INTERNAL_ERROR
            assert failed.value.error.data["statusCode"] == 424

    asyncio.run(run())


def test_cancelling_a_batch_stops_every_node_of_it(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        handle = await begin(client, "batch_collect", clusterName=CLUSTER, strategy="all")
        await client.session.send_request(CancelTask(params=TaskId(task_id=handle.task_id)), types.EmptyResult)
        assert sorted(fleet.collector.stopped) == sorted(fleet.collector.executions)
        assert (await get(client, handle.task_id)).status == "cancelled"

    modern(fleet, tmp_path, talk)


def test_an_unknown_task_is_a_protocol_error(fleet: Fleet, tmp_path: Path) -> None:
    async def talk(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await get(client, "nobody")
        assert refused.value.error.code == types.INVALID_PARAMS

    modern(fleet, tmp_path, talk)


def test_a_client_without_tasks_gets_the_plain_envelope(fleet: Fleet, tmp_path: Path) -> None:
    async def run() -> None:
        async with Client(serve(fleet, tmp_path)) as client:
            answer = await client.call_tool("collect", {"instanceId": NODE})
            task = answer.structured_content["task"]
            assert (task["state"], task["ttl"], task["suggestedPollInterval"]) == ("working", 600, 15)

    asyncio.run(run())
