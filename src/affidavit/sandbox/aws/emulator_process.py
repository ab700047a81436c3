"""The emulator's own process. It ends with whoever started it: the other end of its standard input closes then."""

import os
import signal
import sys
import threading
import time

CLEAN_STOP_SECONDS = 3


def main() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from ministack.app import main as serve  # pyright: ignore[reportMissingTypeStubs] - it ships none

    serve()


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(CLEAN_STOP_SECONDS)
    # The group is ours alone: workers of emulated functions go too.
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
