"""Local mode: bundles in a folder of this machine are taken into a library beside them before a question is asked."""

import logging
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from affidavit.nodes.ingest_directory import DirectoryIngested
    from affidavit.nodes.library import Library

KEPT_IN: Final = ".affidavit"
_LOG = logging.getLogger(__name__)

Look = tuple[tuple[str, int, int], ...]


@dataclass(kw_only=True)
class BundleFolder:
    path: Path
    library: "Library"
    _seen: Look | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_in(self) -> None:
        """Called before every question: one asked before its bundle was read would be told that there is none."""
        # Here, not above: the engine takes longer to load than the server may take to start.
        from affidavit.investigation import analyze
        from affidavit.nodes.ingest_directory import ingest_directory
        from affidavit.nodes.served_folder import RefusedBundle, ServedFolder

        with self._lock:
            look = tuple(_look(self.path))
            if look != self._seen:
                done = ingest_directory(self.path, self.library, analyze=analyze)
                _tell(done)
                refused = tuple(
                    RefusedBundle(name=each.path.name, reason=str(each.error), hint=each.error.hint)
                    for each in done.refused
                )
                self.library.folder = ServedFolder(path=self.path, refused=refused)
                self._seen = look


def _look(folder: Path) -> Iterator[tuple[str, int, int]]:
    """What changes when a bundle comes, goes or is replaced; the store beside them changes all the time."""
    for entry in sorted(folder.iterdir()):
        if entry.name.startswith("."):
            continue
        try:
            status = entry.stat()
        except FileNotFoundError:  # it went away in between
            continue
        yield entry.name, status.st_mtime_ns, status.st_size


def _tell(done: "DirectoryIngested") -> None:
    for each in done.ingested:
        if each.is_new:
            _LOG.warning("a bundle of %s is indexed", each.marker.instance_id)
    for refused in done.refused:
        # Answers tell it too: whoever asks does not see this log.
        _LOG.error("%s cannot be used: %s. %s", refused.path.name, refused.error, refused.error.hint)
