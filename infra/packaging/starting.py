"""Whether a package starts: all that its functions load, from the package alone, in an interpreter of its version."""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_PYENV = Path.home() / ".pyenv" / "versions"
_SECONDS = 300


def interpreter(version: str) -> str | None:
    """One that runs here: a shim of pyenv may be there and lead nowhere."""
    return next((path for path in _candidates(version) if _version_of(path) == version), None)


def failure(archive: Path, modules: Sequence[str], python: str) -> str:
    """Empty when it starts. Neither the packages nor the variables of this environment are seen, as in Lambda."""
    with tempfile.TemporaryDirectory() as folder:
        zipfile.ZipFile(archive).extractall(folder)
        program = f"import sys; sys.path.insert(0, {folder!r}); import {', '.join(modules)}"
        done = subprocess.run(
            [python, "-I", "-S", "-B", "-c", program],
            env={"PATH": "/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    return "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    if (found := shutil.which(f"python{version}")) is not None:
        yield found
    yield from sorted(str(path) for path in _PYENV.glob(f"{version}.*/bin/python"))


def _version_of(python: str) -> str:
    asked = "import sys; print('%d.%d' % sys.version_info[:2])"
    done = subprocess.run([python, "-I", "-c", asked], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip()
