"""Local mode: bundles in a folder of this machine are taken into a library beside them, each once."""

import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from affidavit.errors import AffidavitError

if TYPE_CHECKING:
    from affidavit.nodes.library import Library

KEPT_IN: Final = ".affidavit"
_ARCHIVES: Final = (".tar.gz", ".tgz", ".tar", ".zip")
_LOG = logging.getLogger(__name__)


@dataclass(kw_only=True)
class BundleFolder:
    path: Path
    library: "Library"
    _seen: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_in(self) -> None:
        """Called before every question: one asked before its bundle was read would be told that there is none."""
        with self._lock:
            for entry in sorted(self.path.iterdir()):
                look = (entry.stat().st_mtime, entry.stat().st_size)
                if _is_bundle(entry) and self._seen.get(entry.name) != look:
                    self._ingest(entry)
                    self._seen[entry.name] = look

    def _ingest(self, entry: Path) -> None:
        # Here, not above: the engine takes longer to load than the server may take to start.
        from affidavit.investigation import analyze
        from affidavit.nodes.ingest import ingest

        try:
            marker = ingest(entry, self.library, analyze=analyze, keeps_archive=False).marker
            _LOG.warning("%s: bundle of %s is indexed", entry.name, marker.instance_id)
        except AffidavitError as error:
            # The library keeps the reason too, for whoever asks about the node.
            _LOG.error("%s cannot be used: %s. %s", entry.name, error, error.hint)


def _is_bundle(entry: Path) -> bool:
    if entry.name.startswith("."):
        return False
    return entry.is_dir() or entry.name.endswith(_ARCHIVES)
