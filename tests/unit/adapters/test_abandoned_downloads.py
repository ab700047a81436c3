import io
import os
import time
from pathlib import Path
from typing import Any

import pytest

from affidavit.adapters.aws.storage.download_cache import DownloadCache


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
    DownloadCache(tmp_path).copy("eks_i/b.log", "1", fetch(b"xyz"))
    assert not left.exists()
    assert growing.exists()
    assert kept.read_bytes() == b"abc", "a finished copy goes only when room is needed"


def test_the_folder_is_looked_through_once_for_the_files_of_a_bundle_and_again_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[Path] = []
    remove_oldest = DownloadCache._remove_oldest
    monkeypatch.setattr(
        DownloadCache, "_remove_oldest", lambda self, size: looks.append(tmp_path) or remove_oldest(self, size)
    )
    cache = DownloadCache(tmp_path)
    for number in range(50):
        cache.copy(f"eks_i/{number}.log", "1", fetch(b"abc"))
    assert len(looks) == 1
    monkeypatch.setattr("affidavit.adapters.aws.storage.download_cache.LOOK_AGAIN_SECONDS", -1)
    cache.copy("eks_i/late.log", "1", fetch(b"abc"))
    assert len(looks) == 2
