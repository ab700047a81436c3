"""Local mode: take bundles that lie in a folder of this machine into a library beside them, before a question is asked.

A question about one node waits for the bundles of that node alone; the others are taken in behind it.
"""

import logging
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.nodes.library.object_keys import instance_in

if TYPE_CHECKING:
    from affidavit.nodes.ingest.folder_bundles import RefusedUpload
    from affidavit.nodes.ingest.store_bundle import Ingested
    from affidavit.nodes.library.indexed_bundles import Library

KEPT_IN: Final = ".affidavit"
_LOG = logging.getLogger(__name__)

Stamp = tuple[int, int]
"""What changes when a file or folder is replaced: its time and its size."""


@dataclass(kw_only=True)
class BundleFolder:
    path: Path
    library: "Library"
    _taken: "dict[str, tuple[Stamp, Ingested | RefusedUpload]]" = field(
        default_factory=dict[str, "tuple[Stamp, Ingested | RefusedUpload]"]
    )
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _behind: threading.Thread | None = None

    def take_in(self, asked: str | None = None) -> None:
        """What is new in the folder. With a node, its own bundles first, and the rest in the background."""
        stamps = dict(_stamps(self.path))
        fresh = [path for path in self._bundles() if self._is_fresh(path, stamps)]
        own = [path for path in fresh if asked is not None and asked in path.name]
        # A bundle whose name tells no node may be one of the asked node: then everything is taken in first.
        if asked is not None and all(instance_in(path.name) for path in fresh):
            self._take(own, stamps)
            if len(own) < len(fresh) and self.library.markers(asked):
                self._take_behind([path for path in fresh if path not in own], stamps)
                return
        self._take([path for path in fresh if path not in own or asked is None], stamps)
        self._tell_served()

    def _bundles(self) -> list[Path]:
        # Here, not above: the engine takes longer to load than the server may take to start.
        from affidavit.nodes.ingest.folder_bundles import bundles_in

        return bundles_in(self.path)

    def _is_fresh(self, path: Path, stamps: dict[str, Stamp]) -> bool:
        known = self._taken.get(path.name)
        return known is None or known[0] != stamps.get(path.name)

    def _take_behind(self, paths: Sequence[Path], stamps: dict[str, Stamp]) -> None:
        if self._behind is None or not self._behind.is_alive():
            self._behind = threading.Thread(target=self._take, args=(paths, stamps), daemon=True)
            self._behind.start()

    def _take(self, paths: Sequence[Path], stamps: dict[str, Stamp]) -> None:
        from affidavit.investigation import analyze
        from affidavit.nodes.ingest.folder_bundles import ingest_path

        for path in paths:
            # One at a time, and the lock is free in between: a question about one node need not wait for all.
            with self._lock:
                if path.name in stamps and self._is_fresh(path, stamps):
                    done = ingest_path(path, self.library, analyze=analyze)
                    self._taken[path.name] = (stamps[path.name], done)
                    _log(done)
        self._tell_served()

    def _tell_served(self) -> None:
        """What could not be used, for those whose question finds nothing."""
        from affidavit.nodes.ingest.folder_bundles import RefusedUpload
        from affidavit.nodes.ingest.served_folder import RefusedBundle, ServedFolder

        there = {path.name for path in self._bundles()}
        refused = tuple(
            RefusedBundle(name=name, reason=str(done.error), hint=done.error.hint)
            for name, (_, done) in sorted(self._taken.items())
            if name in there and isinstance(done, RefusedUpload)
        )
        self.library.folder = ServedFolder(path=self.path, refused=refused)


def _stamps(folder: Path) -> Iterator[tuple[str, Stamp]]:
    for entry in folder.iterdir():
        try:
            status = entry.stat()
        except FileNotFoundError:  # it went away in between
            continue
        yield entry.name, (status.st_mtime_ns, status.st_size)


def _log(done: "Ingested | RefusedUpload") -> None:
    from affidavit.nodes.ingest.store_bundle import Ingested

    if not isinstance(done, Ingested):
        # Answers tell it too: whoever asks does not see this log.
        _LOG.error("%s cannot be used: %s. %s", done.path.name, done.error, done.error.hint)
    elif done.is_new:
        _LOG.warning("a bundle of %s is indexed", done.marker.instance_id)
