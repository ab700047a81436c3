"""The real command, in a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile
from threading import Thread
from typing import IO

from tests.support.processes.nursery import Ended, Nursery

SECONDS = 120

CLI = "affidavit.entrypoints.cli"
ENGINES = (
    "hyperscan",
    "re2",
    "numpy",
    f"{CLI}.main",
    f"{CLI}.analyze",
    f"{CLI}.eval.command",
    f"{CLI}.sample",
    f"{CLI}.verify.index",
    "tests.support.processes.loaded",
)
AGENT = ("boto3", "langchain_aws", "affidavit.agent.run", f"{CLI}.eval.incidents", f"{CLI}.incident.export")
_NODES = Nursery(*ENGINES)
_INCIDENTS = Nursery(*ENGINES, *AGENT)


def affidavit(
    *arguments: str | Path, stdin: bytes = b"", env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    words, environment = [*map(str, arguments)], {**os.environ, **(env or {})}
    if any(name.startswith("PYTHON") for name in env or ()):
        return _started(words, stdin, environment)
    ended, out, err = run_forked(words, env=environment, cwd=Path.cwd(), seconds=SECONDS, stdin=stdin)
    return subprocess.CompletedProcess(words, ended.code, out, err)


def open_nurseries() -> None:
    """Workers that are forked after this share them."""
    _NODES.open()
    _INCIDENTS.open()


def run_forked(
    words: Sequence[str], *, env: dict[str, str], cwd: Path, seconds: float, stdin: bytes = b""
) -> tuple[Ended, str, str]:
    """How it ended, what it wrote to standard output, and what to standard error. Its standard input is a pipe."""
    nursery = _INCIDENTS if {"incident", "incidents", "adversarial"} & {*words[:2]} else _NODES
    with _fed(stdin) as reading, TemporaryFile() as out, TemporaryFile() as err:
        ended = nursery.run(words, streams=(reading, out, err), env=env, cwd=cwd, timeout=seconds)
        return ended, _read(out), _read(err)


@contextmanager
def _fed(content: bytes) -> Iterator[IO[bytes]]:
    """The end of a pipe into which this is written as fast as somebody reads it."""
    reading, writing = os.pipe()
    feeder = Thread(target=_feed, args=(writing, content))
    feeder.start()
    with os.fdopen(reading, "rb") as ours:
        yield ours
    feeder.join()  # whoever ended without reading all of it has closed the last other end by now


def _feed(writing: int, content: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(writing, "wb", buffering=0) as pipe:
        left = memoryview(content)
        while left:
            left = left[pipe.write(left) :]


def _read(file) -> str:
    file.seek(0)
    return file.read().decode()


def _started(words: list[str], stdin: bytes, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """By Python from the beginning: what it does to itself then is the point."""
    command = [sys.executable, "-m", "affidavit", *words]
    done = subprocess.run(command, input=stdin, capture_output=True, env=env, check=False, timeout=SECONDS)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())
