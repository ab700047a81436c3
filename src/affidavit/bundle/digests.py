"""Computes md5 and sha256 of a stream in a background thread.

md5 is the slowest step of unpacking, so it has its own thread and a pool of buffers; hashlib releases the interpreter
lock. sha256 runs in that thread when it is idle, else in the reader.
"""

import hashlib
import threading
from pathlib import Path
from queue import SimpleQueue

from affidavit.errors import EvidenceUnavailable

BLOCK = 1 << 19
_BUFFERS = 16
# Handing a block over costs about as much as hashing this many bytes.
_WORTH_HANDING_OVER = 64 * 1024


class Digests:
    """Both digests of one stream of blocks. Final once the hasher is closed."""

    def __init__(self) -> None:
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sha256 = hashlib.sha256()
        self._is_handed_over = False
        # Each counted by one thread alone.
        self._sha256_given = 0
        self._sha256_done = 0

    @property
    def md5(self) -> str:
        return self._md5.hexdigest()

    @property
    def sha256(self) -> str:
        return self._sha256.hexdigest()

    def add(self, buffer: bytearray, length: int, hasher: "SideHasher") -> None:
        """Takes the buffer: it goes back to the hasher's pool when both digests have seen it."""
        if length < _WORTH_HANDING_OVER and not self._is_handed_over:
            view = memoryview(buffer)[:length]
            self._sha256.update(view)
            self._md5.update(view)
            hasher.give(buffer)
            return
        self._is_handed_over = True
        # Blocks must come in order, so one that waits over there keeps the next from being hashed here.
        is_both = hasher.is_idle() or self._sha256_given > self._sha256_done
        if is_both:
            self._sha256_given += 1
        else:
            self._sha256.update(memoryview(buffer)[:length])
        hasher.hash_later(self, buffer, length, is_both=is_both)

    def hash_there(self, view: memoryview, *, is_both: bool) -> None:
        """The hasher's part. sha256 first: the reader may go on with it as soon as it is done."""
        if is_both:
            self._sha256.update(view)
            self._sha256_done += 1
        self._md5.update(view)


class SideHasher:
    def __init__(self) -> None:
        self._free: SimpleQueue[bytearray] = SimpleQueue()
        self._made = 0
        self._work: SimpleQueue[tuple[Digests, bytearray, int, bool] | None] = SimpleQueue()
        self._given = 0
        self._done = 0
        self._thread = threading.Thread(target=self._run, name="md5", daemon=True)
        self._thread.start()

    def take(self) -> bytearray:
        """Made when none is free, until there are enough: a small bundle needs few."""
        if self._free.empty() and self._made < _BUFFERS:
            self._made += 1
            return bytearray(BLOCK)
        return self._free.get()

    def give(self, buffer: bytearray) -> None:
        self._free.put(buffer)

    def is_idle(self) -> bool:
        return self._given == self._done

    def hash_later(self, digests: Digests, buffer: bytearray, length: int, *, is_both: bool) -> None:
        self._given += 1
        self._work.put((digests, buffer, length, is_both))

    def close(self) -> None:
        self._work.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            digests, buffer, length, is_both = work
            digests.hash_there(memoryview(buffer)[:length], is_both=is_both)
            self._free.put(buffer)
            self._done += 1


class FileDigests:
    """Digests of a file on disk, computed in the background from the moment it is made."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._md5 = hashlib.md5(usedforsecurity=False)
        self._sha256 = hashlib.sha256()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="archive digests", daemon=True)
        self._thread.start()

    def wait(self) -> tuple[str, str]:
        """md5 and sha256. Raises EvidenceUnavailable: digests of half a file would be lies."""
        self._thread.join()
        if self._failure is not None:
            raise EvidenceUnavailable(
                f"{self._path} could not be read to its end: {self._failure.strerror}",
                hint="check the disk it lies on, or copy it elsewhere",
            ) from self._failure
        return self._md5.hexdigest(), self._sha256.hexdigest()

    def _run(self) -> None:
        buffer = bytearray(BLOCK)
        view = memoryview(buffer)
        try:
            with self._path.open("rb", buffering=0) as file:
                while count := file.readinto(view):
                    self._md5.update(view[:count])
                    self._sha256.update(view[:count])
        except OSError as error:
            self._failure = error
