import io
import os
import time
from pathlib import Path
from typing import Any

from affidavit.adapters.aws.storage.downloads import DownloadCache


def fetch(content: bytes) -> Any:
    return lambda: {"ETag": "1", "ContentLength": len(content), "Body": io.BytesIO(content)}


def test_what_a_killed_download_left_is_removed_and_one_under_way_is_not(tmp_path: Path) -> None:
    cache = DownloadCache(tmp_path)
    kept = cache.copy("eks_i/a.log", "1", fetch(b"abc"))
    left, growing = tmp_path / "tmpleft", tmp_path / "tmpgrowing"
    left.write_bytes(b"half")
    growing.write_bytes(b"half")
    old = time.time() - 7200
    os.utime(left, (old, old))
    os.utime(kept, (old, old))
    cache.copy("eks_i/b.log", "1", fetch(b"xyz"))
    assert not left.exists()
    assert growing.exists()
    assert kept.read_bytes() == b"abc", "a finished copy goes only when room is needed"
