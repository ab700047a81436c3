"""Calls that somebody waits for: they tell how far they are, stop when nobody waits, and do not pile up."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import mcp.types as types
import pytest
from mcp import Client, MCPError
from mcp.shared.message import SessionMessage
from pydantic import BaseModel
from tests.support.fleet import NODE, Fleet
from tests.support.knowledge.libraries import INSTANCE, OTHER, an_archive
from tests.support.peers.mcp_server import calls_over

from affidavit.entrypoints.mcp.bundles_folder import BundleFolder
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.slow_client_limits import MOST_WAITING, gated
from affidavit.entrypoints.mcp.tools.catalog import NODES
from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset
from affidavit.nodes.ingest import folder_bundles
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.progress import Abandoned, Waiting, waited_for_by, who_waits
from affidavit.wire.records import ToolAnswer, ToolRequest

FILES = {"kubelet/kubelet.log": b"Jan 15 10:30:00 ip kubelet[1]: fine\n" * 1000}


class Slow(ToolRequest):
    pass


began, ended = threading.Event(), threading.Event()


def slow(_library: object, _request: BaseModel) -> ToolAnswer:
    """Works until nobody waits, like a search of many files."""
    began.set()
    try:
        for step in range(3000):
            who_waits().tell(step, 3000, "steps")
            time.sleep(0.01)
    except Abandoned:
        ended.set()
        raise
    return ToolAnswer()


SLOW = Tool(
    name="slow",
    toolset=Toolset.NODES,
    title="Slow",
    description="Slow.",
    request=Slow,
    answer=ToolAnswer,
    place=f"{__name__}:slow",
)


def run(folder: Path, tools: list[Tool], talk: Callable[[Client], Any]) -> Any:
    async def talking() -> Any:
        async with Client(build_server(calls_over(folder, tools=tools))) as client:
            return await talk(client)

    return asyncio.run(talking())


def test_a_cancelled_call_stops_working_within_a_second(tmp_path: Path) -> None:
    began.clear()
    ended.clear()

    async def talk(client: Client) -> None:
        with anyio.move_on_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "slow", {})
                await anyio.to_thread.run_sync(began.wait, 10)
                group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(ended.wait, 5), "the thread still works for nobody"

    run(tmp_path, [SLOW], talk)


def test_progress_is_told_and_only_grows(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    told: list[float] = []

    async def note(done: float, _total: float | None, _message: str | None) -> None:
        told.append(done)

    async def talk(client: Client) -> None:
        await client.call_tool("search", {"instanceId": INSTANCE, "query": "fine"}, progress_callback=note)

    run(tmp_path, list(NODES), talk)
    assert told and told == sorted(set(told))


def test_progress_goes_on_from_bundle_to_bundle_and_never_back(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    an_archive(tmp_path, FILES, instance=OTHER)
    told: list[tuple[float, str]] = []
    calls = calls_over(tmp_path)
    with waited_for_by(Waiting(lambda done, _total, message: told.append((done, message)))):
        calls.call(calls.tools["cluster_health"], {"clusterName": "local"})
    first, second = (max(done for done, message in told if node in message) for node in (INSTANCE, OTHER))
    assert 0 < first < second, "the second bundle comes on top of the first"
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_work_outside_a_call_is_never_abandoned() -> None:
    who_waits().tell(1, None, "nobody listens")
    waiting = Waiting()
    waiting.abandon()
    with waited_for_by(waiting), pytest.raises(Abandoned):
        who_waits().check()
    who_waits().check()


def test_an_ingest_that_nobody_waits_for_is_no_failure_of_the_bundle(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    calls = calls_over(tmp_path)
    waiting = Waiting()
    waiting.abandon()
    with waited_for_by(waiting), pytest.raises(Abandoned):
        calls.call(calls.tools["errors"], {"instanceId": INSTANCE})
    assert not calls.call(calls.tools["errors"], {"instanceId": INSTANCE}).is_error


LONG_WORK: dict[str, dict[str, object]] = {
    "quick_triage": {"instanceId": INSTANCE},
    "validate": {"instanceId": INSTANCE},
    "search": {"instanceId": INSTANCE, "query": "fine"},
    "summarize": {"instanceId": INSTANCE, "finding_ids": ["F-001"]},
    "verify_report": {"instanceId": INSTANCE, "claims": [{"finding_id": "F-001", "quote": "Killed process"}]},
    "compare_nodes": {"instanceIds": [INSTANCE, OTHER]},
    "cluster_health": {"clusterName": "local"},
}


@pytest.mark.parametrize("tool", LONG_WORK)
def test_no_question_that_reads_much_goes_on_when_nobody_waits(tmp_path: Path, tool: str) -> None:
    killed = b"Jan 15 10:30:00 ip kernel: Out of memory: Killed process 7 (java)\n"
    an_archive(tmp_path, {**FILES, "kernel/dmesg.current": killed})
    calls = calls_over(tmp_path)
    assert not calls.call(calls.tools[tool], LONG_WORK[tool]).is_error, "with somebody who waits it is answered"
    waiting = Waiting()
    waiting.abandon()
    with waited_for_by(waiting), pytest.raises(Abandoned):
        calls.call(calls.tools[tool], LONG_WORK[tool])


def test_a_large_file_is_not_compared_to_its_end_for_nobody(tmp_path: Path) -> None:
    an_archive(tmp_path, {"kubelet/kubelet.log": bytes(24 << 20)})
    calls = calls_over(tmp_path)
    calls.call(calls.tools["validate"], {"instanceId": INSTANCE})

    class LeavesAtTheSecondLook(Waiting):
        looks = 0

        def check(self) -> None:
            self.looks += 1
            if self.looks > 2:
                self.abandon()
            super().check()

    waiting = LeavesAtTheSecondLook()
    with waited_for_by(waiting), pytest.raises(Abandoned):
        calls.call(calls.tools["validate"], {"instanceId": INSTANCE})
    assert waiting.looks < 6, "fewer than the file has pieces"


@pytest.mark.parametrize(("tool", "told"), [("errors", "reading "), ("validate", "bytes compared")])
def test_reading_and_comparing_a_bundle_tell_how_far_they_are(tmp_path: Path, tool: str, told: str) -> None:
    an_archive(tmp_path, FILES)
    calls, said = calls_over(tmp_path), list[str]()
    with waited_for_by(Waiting(lambda _done, _total, message: said.append(message))):
        calls.call(calls.tools[tool], {"instanceId": INSTANCE})
    assert any(each.startswith(told) for each in said)


def test_collecting_tells_how_far_it_is(tmp_path: Path) -> None:
    calls, said = calls_over(tmp_path, fleet=Fleet(tmp_path)), list[str]()
    with waited_for_by(Waiting(lambda _done, _total, message: said.append(message))):
        calls.call(calls.tools["collect"], {"instanceId": NODE})
    assert any(NODE in each for each in said)


def test_the_node_that_is_asked_about_is_indexed_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_archive(tmp_path, FILES)
    an_archive(tmp_path, FILES, instance=OTHER)
    gate, taken = threading.Event(), list[str]()
    real = folder_bundles.ingest_path

    def noted(path: Path, library: Library, **options: Any) -> object:
        if INSTANCE in path.name:
            gate.wait(30)  # the other node's bundle takes long
        taken.append(path.name)
        return real(path, library, **options)

    monkeypatch.setattr(folder_bundles, "ingest_path", noted)
    calls = calls_over(tmp_path)
    assert not calls.call(calls.tools["errors"], {"instanceId": OTHER}).is_error
    assert len(taken) == 1 and OTHER in taken[0]
    gate.set()
    health = calls.call(calls.tools["cluster_health"], {"clusterName": "local"}).content
    assert health["nodes_total"] == 2, "a question about all nodes waits for all of them"


def test_a_folder_is_read_again_only_where_it_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    an_archive(tmp_path, FILES)
    taken: list[str] = []
    real = folder_bundles.ingest_path

    def noted(path: Path, library: Library, **options: Any) -> object:
        taken.append(path.name)
        return real(path, library, **options)

    monkeypatch.setattr(folder_bundles, "ingest_path", noted)
    calls = calls_over(tmp_path)
    folder = calls.services.shelves().folder
    assert isinstance(folder, BundleFolder)
    folder.take_in()
    folder.take_in(INSTANCE)
    an_archive(tmp_path, FILES, instance=OTHER)
    folder.take_in()
    assert [INSTANCE in name for name in taken] == [True, False]


def test_no_further_request_is_read_while_answers_wait_to_be_written() -> None:
    async def scenario() -> tuple[int, int]:
        to_server, requests = anyio.create_memory_object_stream[Any](1000)
        answers, from_server = anyio.create_memory_object_stream[Any](0)
        message = SessionMessage(message=types.JSONRPCNotification(jsonrpc="2.0", method="x"))
        incoming, outgoing = gated(requests, answers)
        for _ in range(100):
            to_server.send_nowait(message)
        read = 0

        async def serve() -> None:
            nonlocal read
            async with anyio.create_task_group() as handlers:
                while read < 100:
                    handlers.start_soon(outgoing.send, await incoming.receive())
                    read += 1

        async with anyio.create_task_group() as group:
            group.start_soon(serve)
            await anyio.sleep(0.2)
            stalled = read
            for _ in range(100):
                await from_server.receive()
        return stalled, read

    stalled, read = asyncio.run(scenario())
    assert stalled <= MOST_WAITING + 1 and read == 100


def test_instance_ids_are_completed(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    an_archive(tmp_path, FILES, instance=OTHER)

    async def talk(client: Client) -> list[str]:
        prompt = types.PromptReference(type="ref/prompt", name="triage_node")
        found = await client.complete(prompt, {"name": "instanceId", "value": "i-0f"})
        nothing = await client.complete(prompt, {"name": "audience", "value": "i-0f"})
        assert nothing.completion.values == []
        return found.completion.values

    assert run(tmp_path, list(NODES), talk) == [OTHER]


def test_null_is_the_default_and_a_comma_list_is_a_list(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    calls = calls_over(tmp_path)
    nulls = {"severity": None, "pageSize": None, "index_id": None, "response_format": None, "max_bytes": None}
    assert not calls.call(calls.tools["errors"], {"instanceId": INSTANCE, **nulls}).is_error
    asked = {"instanceId": INSTANCE, "query": "fine"}
    listed = calls.call(calls.tools["search"], {**asked, "logTypes": ["kubelet"]}).content
    commas = calls.call(calls.tools["search"], {**asked, "logTypes": "kubelet, kubelet/kubelet.log"}).content
    assert listed["total_matches"] == commas["total_matches"] == 1000


def test_files_of_a_bundle_without_a_marker_are_not_served(tmp_path: Path) -> None:
    an_archive(tmp_path, FILES)
    calls = calls_over(tmp_path)
    calls.call(calls.tools["search"], {"instanceId": INSTANCE, "query": "fine"})
    library = calls.services.library()
    for key in (f"eks_{OTHER}/extracted/half.log", f"eks_{INSTANCE}/bundles/b-0/extracted/half.log"):
        library.objects.put(key, b"half a bundle\n", purpose="test")
        refused = calls.call(calls.tools["read"], {"logKey": key}).content
        assert refused["statusCode"] == 404
    kept = [each.key for each in library.objects.list(f"eks_{INSTANCE}/metadata/")]
    assert kept and all(calls.call(calls.tools["read"], {"logKey": key}).content["statusCode"] == 404 for key in kept)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
def test_a_modern_client_without_the_extension_is_told_which_capability_is_missing(tmp_path: Path, method: str) -> None:
    class Params(types.RequestParams):
        task_id: str = "x"

    class Asked(types.Request[Params, str]):
        method: str
        params: Params
        name_param = "taskId"

    async def talk(client: Client) -> int:
        with pytest.raises(MCPError) as refused:
            await client.session.send_request(Asked(method=method, params=Params()), types.EmptyResult)
        return refused.value.error.code

    from affidavit.entrypoints.mcp.tools.catalog import TOOLS

    assert run(tmp_path, list(TOOLS), talk) == -32021
