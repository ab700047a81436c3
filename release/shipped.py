"""What wheel and zips carry so that the first run after an installation need not make it: parsed catalogs, the marks of
samples that were tried and held, and the texts that lines are looked through for. Names are digests of what the
entries were made from; others are never read."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from affidavit.matching.disk_cache import SHIPPED
from affidavit.matching.needle_cache import NEEDLES
from affidavit.matching.yaml_cache import DOCUMENTS
from affidavit.rules.passed_sample_checks import MARKS

# Compiled engines fit one kind of processor only.
KINDS = (DOCUMENTS, MARKS, NEEDLES)
_COMMAND = "from affidavit.entrypoints.cli.main import run; run()"
_PREPARE = """
from affidavit.index.scanning.rule_matching import slots_of
from affidavit.knowledge import load_knowledge
slots_of(load_knowledge().pack).prepare()
"""


def add_shipped(sources: Path) -> None:
    """Put it beside the code of these sources."""
    make_shipped(sources / "src", sources / "src" / "affidavit" / SHIPPED)


def make_shipped(source: Path, into: Path) -> None:
    """Run the commands of a first use with the code in the folder `source`, and copy what they kept."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        _run(source, scratch, _PREPARE)
        _run(source, scratch, _COMMAND, "sample", "--faults", "oom", "--form", "directory", "--out", "node")
        _run(source, scratch, _COMMAND, "analyze", "node", "--out", "results", "--quiet")
        for kind in KINDS:
            shutil.copytree(scratch / "affidavit" / kind, into / kind)


def _run(source: Path, scratch: Path, program: str, *arguments: str) -> None:
    environment = {
        **os.environ,
        "PYTHONPATH": str(source.resolve()),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(scratch.resolve()),
    }
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(
        command, cwd=scratch, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    if done.returncode:
        raise SystemExit(f"affidavit {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
