"""What the wheel carries so that the first run after an installation need not make it: parsed catalogs, and the marks
of samples that were tried and held. Names are digests of what the entries were made from; others are never read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from affidavit.matching.disk_cache import SHIPPED
from affidavit.matching.yaml_cache import DOCUMENTS
from affidavit.rules.sample_cache import MARKS

# Compiled engines fit one kind of processor only.
KINDS = (DOCUMENTS, MARKS)
_PROGRAM = "from affidavit.entrypoints.cli.main import run; run()"


def add_shipped(sources: Path) -> None:
    """Run the commands of a first use with these sources, and put what they kept beside the code."""
    scratch = sources.parent / "scratch"
    scratch.mkdir()
    _run(sources, scratch, "sample", "--faults", "oom", "--form", "directory", "--out", "node")
    _run(sources, scratch, "analyze", "node", "--out", "results", "--quiet")
    for kind in KINDS:
        shutil.copytree(scratch / "affidavit" / kind, sources / "src" / "affidavit" / SHIPPED / kind)
    shutil.rmtree(scratch)


def _run(sources: Path, scratch: Path, *arguments: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str((sources / "src").resolve()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(scratch.resolve()),
    }
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    done = subprocess.run(
        command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise SystemExit(f"affidavit {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
