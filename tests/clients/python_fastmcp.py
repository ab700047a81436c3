"""fastmcp's client, over stdio and HTTP."""

import asyncio
import json
import os

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

SERVER, FOLDER, URL, KEY, NODE = (os.environ[name] for name in ("SERVER", "FOLDER", "URL_OF_SERVER", "KEY", "NODE"))


async def main() -> None:
    ways = (
        StdioTransport(command=SERVER, args=["-m", "affidavit", "mcp", "--bundles", FOLDER]),
        StreamableHttpTransport(URL, headers={"Authorization": f"Bearer {KEY}"}),
    )
    for transport in ways:
        async with Client(transport) as client:
            assert "quick_triage" in [tool.name for tool in await client.list_tools()]
            answer = await client.call_tool("errors", {"instanceId": NODE})
            assert answer.structured_content["success"] is True
            refused = await client.call_tool("errors", {"instanceId": "i-00000000"}, raise_on_error=False)
            assert refused.is_error and json.loads(refused.content[0].text)["hint"]


asyncio.run(main())
