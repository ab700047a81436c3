"""Tells until when a program wrote into a log. After that, silence says nothing about it."""

from pathlib import Path

import numpy as np

from affidavit.bundle.byte_range_reader import tail_of
from affidavit.bundle.file_roles import FileRole, component_of
from affidavit.bundle.log_envelopes import unwrapped
from affidavit.evidence.utf16 import text_of
from affidavit.index.times.bundle_clock import UNKNOWN, BundleClock
from affidavit.index.times.timestamps import PREFIX, stamp_of

# Bytes at the end of a file in which the program's last line is looked for.
LOOKED_THROUGH = 1 << 16


def logged_until(location: Path, role: FileRole, component: str, clock: BundleClock) -> int:
    """When the component's last line was written; UNKNOWN where none near the end of the file says so."""
    for line in reversed(tail_of(location, LOOKED_THROUGH).split(b"\n")):
        kind, stamp = stamp_of(line[:PREFIX])
        (moment,) = clock.resolve(np.array([kind], dtype=np.int8), np.array([stamp], dtype=np.int64))
        if moment != UNKNOWN and component_of(unwrapped(text_of(line).encode()), role) == component:
            return int(moment)
    return UNKNOWN
