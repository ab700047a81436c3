"""Runs another module in a process that ends with its parent: `python -m affidavit.sandbox.processes.tethered MODULE`.

The other end of its standard input closes when that process is gone, however it went.
"""

import os
import runpy
import signal
import sys
import threading
import time

CLEAN_STOP_SECONDS = 3


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    # Not `sys.stdin`: its lock, held by a reading thread, breaks the interpreter's own end.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(CLEAN_STOP_SECONDS)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
