"""Distributions, unpacked into a folder: from the package index by the lock's hashes, or from this environment."""

import base64
import hashlib
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackagePath, distribution
from pathlib import Path

from packaging.utils import canonicalize_name

from infra.packaging.closure import Target

_ENTRY = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
# Lambda's Python runs on Amazon Linux 2023, which has glibc 2.34.
_PLATFORMS = ("manylinux_2_34", "manylinux_2_31", "manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014")


class LockBroken(Exception):
    pass


def from_index(names: Sequence[str], target: Target, lock: Path, into: Path) -> None:
    pinned = into.parent / f"{into.name}.lock"
    pinned.write_text("\n".join(_entries(lock.read_text(), names)))
    tag = f"cp{target.python.replace('.', '')}"
    command = [
        *(
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--no-compile",
            "--no-deps",
        ),
        *("--require-hashes", "--requirement", str(pinned), "--target", str(into), "--only-binary", ":all:"),
        *("--python-version", target.python, "--implementation", "cp", "--abi", tag, "--abi", "abi3", "--abi", "none"),
        *(part for platform in _PLATFORMS for part in ("--platform", f"{platform}_x86_64")),
        *("--platform", "any"),
    ]
    try:
        subprocess.run(command, check=True)
    finally:
        pinned.unlink()


def _entries(lock: str, names: Sequence[str]) -> list[str]:
    """Of the lock, without markers: what is needed there is decided already, and pip would judge by this machine."""
    starts = [*_ENTRY.finditer(lock)]
    ends = [*(match.start() for match in starts[1:]), len(lock)]
    known = {canonicalize_name(start[1]): lock[start.start() : end] for start, end in zip(starts, ends, strict=True)}
    if missing := sorted(set(names) - set(known)):
        raise LockBroken(f"the lock lacks {', '.join(missing)}: make lock")
    return [re.sub(r"^([^\s;]+)\s*;[^\\\n]*", r"\1 ", known[name]) for name in names]


def from_installed(names: Sequence[str], into: Path) -> None:
    for name in names:
        for file in distribution(name).files or ():
            if ".." in file.parts or "__pycache__" in file.parts:
                continue
            _copy(file, into / Path(*file.parts))


def _copy(file: PackagePath, target: Path) -> None:
    source = Path(str(file.locate()))
    if file.hash is not None and _digest(source, file.hash.mode) != file.hash.value:
        raise LockBroken(f"{source} is not what was installed: make clean setup")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


@cache
def _digest(source: Path, mode: str) -> str:
    """Packages share most of their files."""
    return base64.urlsafe_b64encode(hashlib.new(mode, source.read_bytes()).digest()).rstrip(b"=").decode()
