"""Every question about a node through the real server, on generated bundles with secrets planted in them."""

import asyncio
import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client, MCPError, StdioServerParameters
from tests.support.peers.mcp_client import Talk, over_http, over_stdio
from tests.support.peers.mcp_server import calls_over, serving
from tests.support.processes.command import affidavit
from tests.support.storms import storm

from affidavit.entrypoints.http.auth import KeyVerifier
from affidavit.entrypoints.mcp.calls import Calls
from affidavit.entrypoints.mcp.http_app import Door, http_app
from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tools.catalog import NODES, TOOLS
from affidavit.entrypoints.mcp.tools.schemas import input_schema, output_schema
from affidavit.entrypoints.mcp.tools.tool import Tool
from affidavit.nodes.library.cluster_nodes import record_node
from affidavit.redaction.pattern import PatternKind
from affidavit.redaction.pattern_loading import load_patterns

NODE = "i-0f3a9c1d7e5b24680"
# Known by their own line: an answer may show one line alone, behind a prefix.
# One of every pattern; `test_patterns` hides all samples. The cost of a search here grows with their square.
PLANTED = [
    next(sample for sample in pattern.samples.hidden if "\n" not in sample.whole)
    for pattern in load_patterns()[PatternKind.SECRET]
    if pattern.finder is None and not pattern.match.startswith(("(?im)^", "(?m)^"))
    if any("\n" not in sample.whole for sample in pattern.samples.hidden)
]
BUILT = [tool for tool in NODES if find_spec(tool.place.partition(":")[0]) is not None]
CANARY = "no answer may hold this line 5b0f2"
# One level, two and three above the files of a bundle, and beside them: where a key could lead that was not refused.
AROUND_THE_BUNDLE = (
    ".affidavit/objects",
    ".affidavit",
    ".",
    ".affidavit/objects/other",
    f".affidavit/objects/eks_{NODE}x",
)
ESCAPES = [
    f"eks_{NODE}/../canary.log",
    f"eks_{NODE}/../../canary.log",
    f"eks_{NODE}/../../../canary.log",
    f"eks_{NODE}/extracted/../../canary.log",
    f"eks_{NODE}/extracted/kubelet/../../../../canary.log",
    f"eks_{NODE}/./../canary.log",
    f"eks_{NODE}//../canary.log",
    f"eks_{NODE}x/canary.log",
    "other/canary.log",
    "canary.log",
    "../canary.log",
]
HOSTILE = [
    "",
    *ESCAPES,
    "../../../etc/passwd",
    "/etc/passwd",
    f"eks_{NODE}/../eks_other/extracted/x",
    f"eks_{NODE}/extracted/../../../../etc/passwd",
    f"eks_{NODE}/extracted/%2e%2e/%2e%2e/etc/passwd",
    f"eks_{NODE}\\..\\..\\windows",
    f"eks_{NODE}/extracted/kubelet/kubelet.log\x00.txt",
    "i-0123456789abcdef0\n",
    "I-0123456789ABCDEF0",
    "(" * 500,
    "(a+)+$",
    "(?<=a)b",
    r"(a)\1",
    "\u202e\u2066\x1b[31m",
    "\ud800",
    "😀" * 200,
    "A" * 5000,
    "'; DROP TABLE state; --",
    "${jndi:ldap://x}",
    "{{7*7}}",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One broken node; its kubelet log also holds every planted secret, its name on the line as a pattern would."""
    into = tmp_path_factory.mktemp("bundles")
    done = affidavit("sample", "--faults", "oom,cni_failure", "--form", "directory", "--out", into)
    assert done.returncode == 0, done.stderr
    (bundle,) = [path for path in into.iterdir() if path.is_dir()]
    log = next(bundle.rglob("kubelet.log"))
    lines = "".join(f"Jan 15 10:29:59 node app[7]: planted {sample.whole}\n" for sample in PLANTED)
    log.write_text(log.read_text() + lines)
    for place in AROUND_THE_BUNDLE:
        (into / place).mkdir(parents=True, exist_ok=True)
        (into / place / "canary.log").write_text(f"{CANARY}\n")
    return into


@pytest.fixture(scope="module")
def calls(folder: Path) -> Calls:
    made = calls_over(folder, allows_debug=True)
    library = made.services.shelves().ready()
    record_node(library.state, cluster="production", marker=library.find(NODE))
    return made


def ask(calls: Calls, tool: str, **arguments: object) -> dict[str, Any]:
    return calls.call(calls.tools[tool], arguments).content


def a_key(calls: Calls) -> str:
    files = ask(calls, "list_bundle_files", instanceId=NODE)["files"]
    return next(file["key"] for file in files if file["path"].endswith("kubelet.log"))


def usual_arguments(calls: Calls) -> dict[str, dict[str, Any]]:
    index = ask(calls, "errors", instanceId=NODE)
    first = index["findings"][0]
    claim = {"finding_id": first["finding_id"], "quote": first["evidence"]["excerpt"]}
    special: dict[str, dict[str, Any]] = {
        "search": {"instanceId": NODE, "query": "planted", "maxResults": 20},
        "read": {"logKey": a_key(calls)},
        "artifact": {"logKey": a_key(calls)},
        "summarize": {"instanceId": NODE, "finding_ids": [first["finding_id"]], "index_id": index["index_id"]},
        "verify_report": {"instanceId": NODE, "claims": [claim], "index_id": index["index_id"]},
        "compare_nodes": {"instanceIds": [NODE, "i-0123456789abcdef0"]},
        "cluster_health": {"clusterName": "production"},
    }
    return {tool.name: special.get(tool.name, {"instanceId": NODE}) for tool in BUILT}


@pytest.mark.parametrize("tool", BUILT, ids=lambda tool: tool.name)
def test_every_answer_fits_its_output_schema_and_holds_no_secret(tool: Tool, calls: Calls) -> None:
    outcome = calls.call(tool, usual_arguments(calls)[tool.name])
    assert not outcome.is_error, outcome.content
    jsonschema.Draft202012Validator(output_schema(tool, has_debug=True)).validate(outcome.content)
    text = json.dumps(outcome.content, ensure_ascii=False)
    assert [sample.hidden for sample in PLANTED if json.dumps(sample.hidden, ensure_ascii=False)[1:-1] in text] == []


def test_planted_secrets_leave_by_no_way_of_reading(calls: Calls) -> None:
    key = a_key(calls)
    texts = [json.dumps(ask(calls, "search", instanceId=NODE, query="planted", maxResults=500), ensure_ascii=False)]
    at: int | None = 0
    while at is not None:
        answer = ask(calls, "read", logKey=key, startByte=at)
        texts.append(answer["content"])
        at = answer["nextChunkStart"]
    total = ask(calls, "read", logKey=key, startLine=1, lineCount=100_000)["lineCount"]
    for line in range(total - len(PLANTED) - 5, total + 1):
        texts.append(ask(calls, "read", logKey=key, startLine=line, lineCount=1)["content"])
    leaked = [sample.hidden for sample in PLANTED if any(sample.hidden in text for text in texts)]
    # Lines of a key's middle, read one by one, are no longer known as such; together they are.
    assert [secret for secret in leaked if "\n" not in secret] == []
    assert any("[REDACTED:" in text for text in texts)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_schemas_are_valid_and_every_field_is_described(tool: Tool) -> None:
    taken, given = input_schema(tool, has_debug=True), output_schema(tool, has_debug=True)
    for schema in (taken, given):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
    assert list(undescribed(given)) == []
    assert {name.removeprefix(".") for name in undescribed(taken)} <= SELF_EXPLAINING


def test_all_tools_as_a_chat_model_sees_them_take_at_most_16_kilobytes() -> None:
    seen = [
        {"name": tool.name, "description": tool.description, "inputSchema": input_schema(tool, has_debug=False)}
        for tool in TOOLS
    ]
    # As most clients write it into a prompt, with a space after each comma and colon.
    assert len(json.dumps(seen, ensure_ascii=False).encode()) <= 16 << 10


# Every byte of an input schema is read by a chat model in every conversation.
SELF_EXPLAINING = {"instanceId", "max_bytes", "severity", "pageSize", "includeRecommendations"}


def undescribed(schema: dict[str, Any]) -> Iterator[str]:
    """Fields, also of the records inside, that leave a chat model to guess what they mean."""
    for owner, record in {"": schema, **schema.get("$defs", {})}.items():
        for name, field in record.get("properties", {}).items():
            if not field.get("description"):
                yield f"{owner}.{name}"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_description_ends_with_an_example_that_can_be_used(tool: Tool) -> None:
    _, _, example = tool.description.partition("Example: ")
    if example:
        tool.request.model_validate(json.loads(example.replace("…", "0")))
    else:
        assert len(input_schema(tool, has_debug=False).get("required", [])) <= 1, "more than one argument wants showing"


@pytest.mark.parametrize("tool", BUILT, ids=lambda tool: tool.name)
def test_the_same_question_on_the_same_evidence_has_the_same_hashes(tool: Tool, calls: Calls) -> None:
    arguments = {**usual_arguments(calls)[tool.name], "debug": True}
    one, two = (calls.call(tool, arguments).content["_debug"] for _ in range(2))
    assert one["input_hash"] == two["input_hash"]
    assert not tool.is_deterministic or one["output_hash"] == two["output_hash"]


def test_a_quote_of_a_redacted_line_verifies(calls: Calls) -> None:
    found = ask(calls, "search", instanceId=NODE, query="planted .*AWS_SECRET_ACCESS_KEY")
    result = found["results"][0]
    assert "[REDACTED:aws_secret_key]" in result["evidence"]["excerpt"]
    claim = {"finding_id": result["finding_id"], "quote": result["evidence"]["excerpt"]}
    ids = {"index_id": found["index_id"], "search_id": found["search_id"]}
    assert ask(calls, "verify_report", instanceId=NODE, claims=[claim], **ids)["all_hold"] is True
    claim["quote"] = claim["quote"].replace("aws_secret_key", "password")
    assert ask(calls, "verify_report", instanceId=NODE, claims=[claim], **ids)["all_hold"] is False


# --- hostile questions -----------------------------------------------------------------------------------------------


@cache
def fields_of(tool: Tool) -> list[str]:
    return list(input_schema(tool, has_debug=False)["properties"])


def hostile_arguments(tool: Tool, choose: random.Random) -> dict[str, Any]:
    """Some of the tool's own fields, some strangers, with values that fit, nearly fit, or have no business there."""
    fields = fields_of(tool)
    values: list[Any] = [*HOSTILE, NODE, None, True, -1, 0, 1, 2**63, 1e308, [], [NODE], {}, {"a": [{}]}, [[[]]]]
    usable = {"instanceId": NODE, "logKey": f"eks_{NODE}/extracted/kubelet/kubelet.log", "query": "x"}
    arguments = {name: usable[name] for name in fields if name in usable and choose.random() < 0.6}
    for name in choose.sample(fields, choose.randint(0, len(fields))):
        if name not in arguments or choose.random() < 0.3:
            arguments[name] = choose.choice(values)
    if choose.random() < 0.1:
        arguments[choose.choice(["__class__", "debug", "extra", ""])] = choose.choice(values)
    return arguments


@pytest.mark.slow
@pytest.mark.parametrize("door", [over_stdio, over_http])
def test_hundreds_of_hostile_calls_at_each_door_end_in_an_answer_or_an_error_of_ours(
    folder: Path, door: Callable[..., AbstractContextManager[Talk]]
) -> None:
    choose = random.Random(door.__name__)
    unexpected: list[tuple[str, dict[str, Any], object]] = []
    with door(["--bundles", str(folder)], {}) as talk:
        offered = [tool for tool in BUILT if tool.name in talk.tools]
        assert len(offered) >= 14
        for number in range(storm(200, full=5_000)):
            tool = offered[number % len(offered)]
            arguments = sendable(hostile_arguments(tool, choose))
            answer = talk.answered(tool.name, **arguments)
            is_ours = answer["success"] or (answer["statusCode"] in (400, 404, 409) and "log id" not in answer["error"])
            if not is_ours or shows_what_lies_outside(answer):
                unexpected.append((tool.name, arguments, answer))
    assert unexpected == []


def sendable(value: Any) -> Any:
    """Half a character cannot be written by the client; it is tried below, where the request is written by hand."""
    return json.loads(json.dumps(value).replace("\\ud800", "\\ufffd"))


def shows_what_lies_outside(answer: Any) -> bool:
    """Also as a link: `url` of artifact is a path here. The call that is proposed next repeats what the caller said."""
    text = json.dumps({name: value for name, value in answer.items() if name not in ("truncation_info", "query")})
    return "root:x:0" in text or CANARY in text or ("canary.log" in text and answer["success"])


@pytest.mark.parametrize("tool", ["read", "artifact"])
@pytest.mark.parametrize("key", ESCAPES)
def test_a_key_that_leads_out_of_the_bundle_is_refused(calls: Calls, folder: Path, tool: str, key: str) -> None:
    assert any(CANARY in (folder / place / "canary.log").read_text() for place in AROUND_THE_BUNDLE)
    for logged in (key, str(folder / "canary.log")):
        outcome = calls.call(calls.tools[tool], {"logKey": logged})
        assert outcome.is_error and outcome.content["statusCode"] == 400, outcome.content
        assert not shows_what_lies_outside(outcome.content)


def test_hostile_calls_over_http_end_the_same_way(calls: Calls) -> None:
    choose = random.Random(11)
    key = "a-key-for-tests-0123456789"
    app = http_app(build_server(calls), Door(verifier=KeyVerifier(key=key), is_stateless=True))
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json", "MCP-Protocol-Version": "2025-11-25"}
    with serving(app) as url, httpx2.Client(headers=headers, timeout=60) as client:
        for number in range(300):
            tool = BUILT[number % len(BUILT)]
            params = {"name": tool.name, "arguments": hostile_arguments(tool, choose)}
            body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            response = client.post(f"{url}/mcp", content=body, headers={"Content-Type": "application/json"})
            assert response.status_code in (200, 400), response.text
            assert CANARY not in response.text
            if response.status_code == 200 and "result" in response.json():
                answer = json.loads(response.json()["result"]["content"][0]["text"])
                assert answer["success"] is True or answer["statusCode"] in (400, 404, 409)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=40)
    | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tool=st.sampled_from(TOOLS), data=st.data())
def test_no_arguments_break_the_door(calls: Calls, tool: Tool, data: st.DataObject) -> None:
    fields = st.sampled_from([*input_schema(tool, has_debug=False)["properties"], "stranger"])
    outcome = calls.call(tool, data.draw(st.dictionaries(fields, json_values, max_size=5)))
    if outcome.is_error:
        assert set(outcome.content) == {"success", "statusCode", "error", "hint"}
        assert "log id" not in str(outcome.content["error"])


CATASTROPHIC = [
    "(a+)+$",
    "(a|a)*$",
    "(a|aa)+$",
    "(.*a){20}$",
    "(a*)*b",
    "([a-zA-Z]+)*!",
    "(x+x+)+y",
    "^(([a-z])+.)+[A-Z]([a-z])+$",
    "(.*)*=",
    "(a?){50}a{50}",
    "(?:a|b|ab)*c$",
    r"(\w+\s?)*$!",
    r"^(\d+)*$x",
    "(aa|aab?)*$!",
    "a*a*a*a*a*a*a*a*a*a*b",
    "(a{1,30}){1,30}$!",
    "(.+)+(.+)+(.+)+Q",
    "((a+)b?)*$!",
    r"([^\n]+)+z!",
    r"^(a|b|c|[a-c])*d$",
]


@pytest.mark.skipif("search" not in {tool.name for tool in BUILT}, reason="search is not there yet")
def test_catastrophic_patterns_on_lines_of_a_megabyte_end(tmp_path: Path) -> None:
    """A backtracking engine would take years. Time is not judged: reaching the end is."""
    done = affidavit("sample", "--faults", "healthy", "--form", "directory", "--out", tmp_path)
    assert done.returncode == 0
    (bundle,) = [path for path in tmp_path.iterdir() if path.is_dir()]
    next(bundle.rglob("kubelet.log")).write_text("a" * 1_000_000 + "\n" + "ab c" * 250_000 + "!\n")
    calls = calls_over(tmp_path)
    for pattern in CATASTROPHIC:
        answer = ask(calls, "search", instanceId=NODE, query=pattern, logTypes=["kubelet"], maxResults=1)
        assert answer["success"] is True or answer["statusCode"] == 400, answer


# --- the real process ------------------------------------------------------------------------------------------------


def test_over_stdio_a_client_finds_what_is_wrong(folder: Path) -> None:
    async def talk() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "affidavit", "mcp", "--bundles", str(folder), "--toolsets", "nodes"]
        )
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == {tool.name for tool in NODES}
            assert all(tool.annotations.read_only_hint for tool in tools)
            found = (await client.call_tool("errors", {"instanceId": NODE})).structured_content["findings"]
            assert {"kernel.oom-killer-invoked"} & {finding["rule"] for finding in found}
            missing = await client.call_tool("errors", {"instanceId": "i-0123456789abcdef0"})
            assert missing.is_error and json.loads(missing.content[0].text)["statusCode"] == 404
            listed = await client.read_resource(f"affidavit://bundle/{NODE}")
            assert "kubelet" in listed.contents[0].text
            prompt = await client.get_prompt("incident_report", {"instanceId": NODE})
            assert NODE in prompt.messages[0].content.text

    asyncio.run(talk())


def test_a_resource_is_read_by_its_address(calls: Calls) -> None:
    async def talk() -> None:
        index = ask(calls, "errors", instanceId=NODE)
        finding = f"affidavit://finding/{NODE}/{index['index_id']}/{index['findings'][0]['finding_id']}"
        async with Client(build_server(calls)) as client:
            lines = json.loads((await client.read_resource(f"affidavit://log/{a_key(calls)}#L2-4")).contents[0].text)
            assert lines["lineCount"] == 3
            quoted = json.loads((await client.read_resource(finding)).contents[0].text)
            assert quoted["findings"][0]["evidence"] == index["findings"][0]["evidence"]
            for bad in ("affidavit://log/../../etc/passwd", "affidavit://bundle/x", "file:///etc/passwd"):
                with pytest.raises(MCPError, match=r"resource|log key|cannot be used") as refused:
                    await client.read_resource(bad)
                assert refused.value.error.data == {"uri": bad}

    asyncio.run(talk())


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_a_server_on_stdio_stops_when_told_though_its_input_stays_open(folder: Path, stop: signal.Signals) -> None:
    command = [sys.executable, "-m", "affidavit", "mcp", "--bundles", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        client = {"name": "x", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        process.stdin.write(json.dumps(hello) + "\n")
        process.stdin.flush()
        assert "affidavit" in process.stdout.readline()
        process.send_signal(stop)
        assert process.wait(timeout=60) == 130
