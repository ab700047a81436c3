"""The server on the sandbox's AWS: two processes of it share tasks, and a lambda question reaches the account."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable

import mcp.types as types
import pytest
from mcp import Client, StdioServerParameters
from tests.support.peers.mcp_server import CancelTask, GetTask, TaskId, TasksClient, TaskState

from affidavit.bootstrap import build_app
from affidavit.investigation import analyze
from affidavit.knowledge import load_knowledge
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.sandbox.account.nodes import FleetNode
from affidavit.sandbox.aws.automation import Conduct
from affidavit.sandbox.sandbox import Sandbox
from affidavit.settings import Settings

CLUSTER = "served"


@pytest.fixture
def server(sandbox: Sandbox, aws_environment: dict[str, str]) -> StdioServerParameters:
    env = {**os.environ, **aws_environment, "ALLOWED_CLUSTERS": CLUSTER}
    return StdioServerParameters(command=sys.executable, args=["-m", "affidavit", "mcp"], env=env)


def talk(server: StdioServerParameters, say: Callable[[Client], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(server, extensions=[TasksClient()]) as client:
            await say(client)

    asyncio.run(run())


def a_node(sandbox: Sandbox, number: int, conduct: Conduct | None = None) -> str:
    instance_id = f"i-0ca11ab1e{number:08x}"
    sandbox.fleet.add(FleetNode(instance_id=instance_id, cluster=CLUSTER, faults=("oom",)))
    sandbox.automation.conduct(instance_id, conduct or Conduct())
    return instance_id


async def get(client: Client, task_id: str) -> TaskState:
    return await client.session.send_request(GetTask(params=TaskId(task_id=task_id)), TaskState)


def test_a_task_of_one_process_is_completed_in_another_and_the_node_can_be_questioned(
    sandbox: Sandbox, server: StdioServerParameters
) -> None:
    node = a_node(sandbox, 1)
    begun: dict[str, str] = {}

    async def begin(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"collect", "quick_triage", "get_recent_logs"} <= names
        handle = await client.session.call_tool("collect", {"instanceId": node}, allow_claimed=True)
        begun["task"] = handle.task_id

    talk(server, begin)

    async def finish(client: Client) -> None:
        while (
            (await client.call_tool("history", {"instanceId": node}))
            .structured_content["collections"][0]["message"]
            .startswith("the collection is")
        ):
            await asyncio.sleep(0.1)
        app = build_app(Settings.from_environment())
        library = Library(objects=app.objects, state=app.state, clock=app.clock, knowledge=load_knowledge())
        key = next(
            stored.key for stored in app.objects.list(f"eks_{node}/") if stored.key.endswith((".tar.gz", ".tgz"))
        )
        ingest(key, library, analyze=analyze)
        done = await get(client, begun["task"])
        assert done.status == "completed", done.status_message
        result = types.CallToolResult.model_validate(done.result).structured_content
        assert result["instanceId"] == node and result["task"]["state"] == "completed"
        triage = (await client.call_tool("quick_triage", {"instanceId": node})).structured_content
        assert triage["top_findings"]

    talk(server, finish)


def test_cancelling_the_task_stops_the_execution(sandbox: Sandbox, server: StdioServerParameters) -> None:
    node = a_node(sandbox, 2, Conduct(is_hanging=True))

    async def say(client: Client) -> None:
        handle = await client.session.call_tool("collect", {"instanceId": node}, allow_claimed=True)
        await client.session.send_request(CancelTask(params=TaskId(task_id=handle.task_id)), types.EmptyResult)
        assert (await get(client, handle.task_id)).status == "cancelled"

    talk(server, say)
    assert sandbox.automation.runs_of(node)[0].status in ("Cancelling", "Cancelled")


def test_a_function_that_does_not_exist_is_not_found(server: StdioServerParameters) -> None:
    async def say(client: Client) -> None:
        answer = await client.call_tool("get_lambda_config", {"lambda_name": "nobody-knows-it"})
        assert answer.is_error and json.loads(answer.content[0].text)["statusCode"] == 404, answer.content

    talk(server, say)
