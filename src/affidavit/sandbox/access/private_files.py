"""Files that hold the sandbox's keys: for their owner alone from the first byte on."""

import os
from pathlib import Path
from typing import BinaryIO


def private_file(path: Path) -> BinaryIO:
    """A new file in place of what is there. A link that somebody put there is not followed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb")
