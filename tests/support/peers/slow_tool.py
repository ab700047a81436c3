"""A server with one tool that works until nobody waits for it, and files that tell how it ended.

Run as a program it serves over stdio: `python -m tests.support.peers.slow_tool FOLDER`.
"""

import os
import sys
import time
from pathlib import Path

import anyio
from mcp.server.stdio import stdio_server
from pydantic import BaseModel

from affidavit.entrypoints.mcp.server import build_server
from affidavit.entrypoints.mcp.tools.tool import Tool, Toolset
from affidavit.progress import Abandoned, who_waits
from affidavit.wire.records import ToolAnswer, ToolRequest
from tests.support.peers.mcp_server import calls_over

FOLDER = "SLOW_TOOL_FOLDER"


class Slow(ToolRequest):
    name: str = "it"


def slow(_library: object, request: BaseModel) -> ToolAnswer:
    """Leaves NAME.began at the start, and NAME.stopped when nobody waits any more."""
    folder, name = Path(os.environ[FOLDER]), str(getattr(request, "name", ""))
    (folder / f"{name}.began").touch()
    try:
        for step in range(6000):
            who_waits().tell(step, 6000, "steps")
            time.sleep(0.01)
    except Abandoned:
        (folder / f"{name}.stopped").touch()
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


def appears(path: Path, seconds: float = 20) -> bool:
    deadline = time.monotonic() + seconds
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    return path.exists()


async def _serve(folder: Path) -> None:
    server = build_server(calls_over(folder, tools=[SLOW]))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


if __name__ == "__main__":
    sys.modules["tests.support.peers.slow_tool"] = sys.modules["__main__"]
    os.environ[FOLDER] = sys.argv[1]
    anyio.run(_serve, Path(sys.argv[1]))
