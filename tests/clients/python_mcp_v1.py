"""The Python SDK 1.x, and langchain-mcp-adapters on top of it, over stdio and HTTP."""

import asyncio
import json
import os

from langchain_mcp_adapters.client import MultiServerMCPClient
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

SERVER, FOLDER, URL, KEY, NODE = (os.environ[name] for name in ("SERVER", "FOLDER", "URL_OF_SERVER", "KEY", "NODE"))
ARGUMENTS = ["-m", "affidavit", "mcp", "--bundles", FOLDER]
HEADERS = {"Authorization": f"Bearer {KEY}"}


async def by_the_sdk(streams: object) -> None:
    async with streams as opened, ClientSession(opened[0], opened[1]) as session:
        await session.initialize()
        assert "quick_triage" in [tool.name for tool in (await session.list_tools()).tools]
        answer = await session.call_tool("errors", {"instanceId": NODE})
        assert answer.structuredContent["success"] is True
        refused = await session.call_tool("errors", {"instanceId": "i-00000000"})
        assert refused.isError and json.loads(refused.content[0].text)["hint"]


async def by_langchain() -> None:
    ways = {
        "stdio": {"transport": "stdio", "command": SERVER, "args": ARGUMENTS},
        "http": {"transport": "streamable_http", "url": URL, "headers": HEADERS},
    }
    for way, connection in ways.items():
        tools = {tool.name: tool for tool in await MultiServerMCPClient({way: connection}).get_tools()}
        answer = await tools["errors"].ainvoke({"instanceId": NODE})
        assert "F-001" in str(answer)
        try:
            said = str(await tools["errors"].ainvoke({"instanceId": "i-00000000"}))
        except Exception as error:  # noqa: BLE001  # by which one differs from version to version
            said = str(error)
        assert "hint" in said


async def main() -> None:
    await by_the_sdk(stdio_client(StdioServerParameters(command=SERVER, args=ARGUMENTS)))
    await by_the_sdk(streamablehttp_client(URL, headers=HEADERS))
    await by_langchain()


asyncio.run(main())
