"""Builds wheel and sdist twice, from two copies of the sources, and compares them byte for byte."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from release.shipped import add_shipped

ROOT = Path(__file__).parents[1]
# Every time stamp inside: a build does not say when it was made.
EPOCH = "1767225600"


def build(out: Path) -> list[Path]:
    """The built files in `out`. Raises SystemExit when the second build differs from the first."""
    first, second = (_built(out / folder) for folder in ("first", "second"))
    different = [name for name in sorted(first.keys() | second.keys()) if first.get(name) != second.get(name)]
    if different:
        raise SystemExit(f"not reproducible: {', '.join(different)}")
    for name in first:
        shutil.copy(out / "first" / name, out / name)
    for folder in ("first", "second"):
        shutil.rmtree(out / folder)
    return [out / name for name in sorted(first)]


def _built(folder: Path) -> dict[str, str]:
    shutil.rmtree(folder, ignore_errors=True)
    sources = folder / "sources"
    _copy_tracked(sources)
    add_shipped(sources)
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())]
    subprocess.run(command, cwd=sources, env={**os.environ, "SOURCE_DATE_EPOCH": EPOCH}, check=True, stdout=sys.stderr)
    shutil.rmtree(sources)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def _copy_tracked(into: Path) -> None:
    """Only what is under version control: nothing that lies about here may be published."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        source = ROOT / name
        if source.is_file():
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, into / name)
