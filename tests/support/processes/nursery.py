"""A process that has imported the command already and forks a child for each run of it.

Starting Python and importing takes longer than most runs. Everything else is as in a process of its own: arguments,
environment, working folder, standard streams, signals, exit code, peak of memory; the child even ends as Python ends.
What importing does is done beforehand, and for most that includes loading the built-in rules (`loaded.py`): half of
what a small analysis costs. Whatever else a run reads, compiles or caches, each child does by itself.

Run as a program, this is the process that forks. It ends when whoever started it does.
"""

import atexit
import gc
import importlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

LARGEST_REQUEST = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Ended:
    code: int
    megabytes: float
    seconds: float


class Nursery:
    def __init__(self, *modules: str) -> None:
        self._modules = modules
        self._door: socket.socket | None = None

    def run(
        self,
        arguments: Sequence[str],
        *,
        streams: Sequence[IO[bytes]],
        env: Mapping[str, str],
        cwd: Path,
        timeout: float,
    ) -> Ended:
        """`streams` are standard input, output and error. Raises subprocess.TimeoutExpired once the child is killed."""
        door = self.open()
        ours, theirs = socket.socketpair()
        request = json.dumps({"arguments": list(arguments), "env": dict(env), "cwd": str(cwd)}).encode()
        with ours:
            with theirs:
                socket.send_fds(door, [request], [*(stream.fileno() for stream in streams), theirs.fileno()])
            answers = ours.makefile("r")
            pid = int(answers.readline())
            ours.settimeout(timeout)
            try:
                return Ended(**json.loads(answers.readline()))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout) from None

    def open(self) -> socket.socket:
        """Processes forked after this share it."""
        self._door = self._door or self._opened()
        return self._door

    def _opened(self) -> socket.socket:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, LARGEST_REQUEST)
        with theirs:
            command = [sys.executable, __file__, str(theirs.fileno()), *self._modules]
            away = subprocess.DEVNULL
            process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=away, stdout=away)
        atexit.register(process.wait)
        atexit.register(ours.close)
        return ours


# --- the process that forks ------------------------------------------------------------------------------------------


def _serve(door: socket.socket) -> list[str]:
    """Comes back in each child, with the arguments of its run."""
    while True:
        request, descriptors, _, _ = socket.recv_fds(door, LARGEST_REQUEST, 4)
        _reap(is_last=not request)
        if not request:
            os._exit(0)
        *streams, reply = descriptors
        if os.fork() == 0:
            door.close()
            started, child = time.monotonic(), os.fork()
            if child == 0:
                os.close(reply)
                return _become(json.loads(request), streams)
            _wait(child, started, reply)
        for descriptor in descriptors:
            os.close(descriptor)


def _reap(*, is_last: bool) -> None:
    """Those who waited for a child."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, 0 if is_last else os.WNOHANG)[0]:
            pass


def _wait(child: int, started: float, reply: int) -> None:
    os.write(reply, b"%d\n" % child)
    _, status, used = os.wait4(child, 0)
    told = Ended(
        code=os.waitstatus_to_exitcode(status), megabytes=used.ru_maxrss / 1024, seconds=time.monotonic() - started
    )
    with suppress(BrokenPipeError):  # of whom it took too long for
        os.write(reply, json.dumps(vars(told)).encode() + b"\n")
    os._exit(0)


def _become(request: dict[str, object], streams: Sequence[int]) -> list[str]:
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(str(request["cwd"]))
    os.environ.clear()
    os.environ.update(request["env"])
    time.tzset()
    return list(request["arguments"])


if __name__ == "__main__":
    sys.path[0] = ""  # where `python -m` looks first
    for module in sys.argv[2:]:
        importlib.import_module(module)
    gc.freeze()  # else each child would look through all of it, and so copy it, when it ends
    sys.argv = ["affidavit", *_serve(socket.socket(fileno=int(sys.argv[1])))]
    runpy.run_module("affidavit", run_name="__main__", alter_sys=True)
