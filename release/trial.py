"""Installs the wheel into clean environments and runs commands there: each works, or names the extra it needs."""

import os
import re
import resource
import shutil
import subprocess
import tempfile
import time
import venv
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from release.shipped import KINDS

MOST_CORE_MB = 120
AIM_SECONDS = 3.0
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`needs` are the extras without which a command cannot work; none: it works in the core."""

    arguments: tuple[str, ...]
    needs: frozenset[str] = frozenset()


# What together makes an AWS on this machine.
SANDBOX = frozenset({"agent", "aws", "sandbox"})
TRIALS = (
    Trial(arguments=("--version",)),
    Trial(arguments=("doctor",)),
    Trial(arguments=("completion", "bash")),
    Trial(arguments=("sample", "--faults", "oom", "--form", "directory", "--out", "node")),
    Trial(arguments=("analyze", "node", "--out", "results", "--quiet")),
    Trial(arguments=("verify", "results/findings_index.json", "node")),
    Trial(arguments=("diff", "node", "node")),
    Trial(arguments=("rules", "list")),
    Trial(arguments=("mcp", "--help")),
    Trial(arguments=("keys", "new", "--out", "trial.key")),
    Trial(
        arguments=("incident", "submit", "--scenario", "permission-s3-statement-removed", "--offline"),
        needs=frozenset({"agent"}),
    ),
    Trial(arguments=("fleet", "add", "node"), needs=frozenset({"fleet"})),
    Trial(arguments=("sandbox", "up", "--detach"), needs=SANDBOX),
    Trial(arguments=("sandbox", "down"), needs=SANDBOX),
    Trial(arguments=("console", "--help")),
)
_INSTALL_LINE = re.compile(r"pip install 'affidavit\[([\w,]+)\]'")
ANALYZE = ("analyze", "node", "--quiet")


def try_core(wheel: Path, folder: Path, python: str) -> list[str]:
    """What went wrong in an environment with nothing but the wheel and what it asks for."""
    home = folder / f"core-{python}"
    bin_ = _environment(home, f"{wheel}", python)
    troubles = [trouble for trial in TRIALS if (trouble := _trouble(bin_, home, trial, frozenset())) is not None]
    size, first = _megabytes(home), _first_analysis(bin_, home)
    print(
        f"{python}: core takes {size} MB, compiled code left out; "
        f"the first analysis {first.wall:.1f} s, {first.cpu:.1f} s of CPU"
    )
    if first.made:
        troubles.append(f"{python}: the wheel does not carry what it should: {', '.join(first.made)} were made anew")
    if size > MOST_CORE_MB:
        troubles.append(f"{python}: the core takes {size} MB, more than {MOST_CORE_MB}")
    if first.wall > AIM_SECONDS:  # no trouble: what else this machine does counts, too
        print(f"{python}: the first analysis is to take {AIM_SECONDS:.0f} s; measure it on an idle machine")
    return troubles


def try_extras(wheel: Path, folder: Path, extras: Sequence[str]) -> list[str]:
    """Whether extras resolve, the doctor then finds them, and every command works or names what it still needs."""
    named = ",".join(extras)
    home = folder / named
    bin_ = _environment(home, f"{wheel}[{named}]", "python3")
    said = _run(bin_, home, ("doctor",))
    found = {line.split()[1] for line in said.stdout.splitlines() if line.startswith("✓ ")}
    troubles = [] if {*extras} <= found else [f"the doctor does not find it:\n{said.stdout}{said.stderr}"]
    troubles += [trouble for trial in TRIALS if (trouble := _trouble(bin_, home, trial, {*extras})) is not None]
    print(f"{named}: takes {_megabytes(home)} MB with the core")
    shutil.rmtree(home)
    return [f"{named}: {trouble}" for trouble in troubles]


@dataclass(frozen=True, kw_only=True)
class First:
    """What the first analysis took, and what it had to make although the wheel carries it."""

    wall: float
    cpu: float
    made: tuple[str, ...]


def _first_analysis(bin_: Path, home: Path) -> First:
    """Right after an installation: nothing compiled, nothing cached."""
    for cache in home.rglob("__pycache__"):
        shutil.rmtree(cache, ignore_errors=True)
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with tempfile.TemporaryDirectory() as empty:
        done = _run(bin_, home, ANALYZE, XDG_CACHE_HOME=empty)
        wall = time.monotonic() - started
        made = tuple(kind for kind in KINDS if [*Path(empty).glob(f"affidavit/{kind}/*")])
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"the first analysis ended with {done.returncode}: {done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return First(wall=wall, cpu=cpu, made=made)


def pythons() -> list[str]:
    """Those that are here and start: a version manager leaves names of versions that it does not have."""
    return [name for name in PYTHONS if _starts(name)] or ["python3"]


def _starts(name: str) -> bool:
    found = shutil.which(name)
    return found is not None and subprocess.run([found, "-V"], capture_output=True, check=False).returncode == 0


def _environment(home: Path, requirement: str, python: str) -> Path:
    shutil.rmtree(home, ignore_errors=True)
    if python == "python3":
        venv.create(home, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(home)], check=True)
    # Without compiled code, as uv installs it.
    subprocess.run([str(home / "bin" / "pip"), "install", "--quiet", "--no-compile", requirement], check=True)
    return home / "bin"


def _trouble(bin_: Path, home: Path, trial: Trial, extras: Set[str]) -> str | None:
    """An extra may bring a part of another: a command then names only what is still missing."""
    done = _run(bin_, home, trial.arguments)
    said, missing = done.stdout + done.stderr, trial.needs - extras
    if done.returncode == 0:
        return None
    shown = f"affidavit {' '.join(trial.arguments)} ended with {done.returncode}: {said}"
    named = {name for names in _INSTALL_LINE.findall(said) for name in names.split(",")}
    return None if done.returncode == 2 and named and named <= missing else shown


def _run(bin_: Path, home: Path, arguments: tuple[str, ...], **changed: str) -> subprocess.CompletedProcess[str]:
    command = [str((bin_ / "affidavit").resolve()), *arguments]
    environment = {**os.environ, "AFFIDAVIT_DATA": str(home / "data"), **changed}
    return subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=300, check=False)


def _megabytes(home: Path) -> int:
    """Files of the installed packages, without pip and what pip brings, and without compiled code."""
    (packages,) = home.glob("lib/python*/site-packages")
    left_out = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__")
    files = (path for path in packages.rglob("*") if path.is_file() and not _is_below(path, packages, left_out))
    return round(sum(path.stat().st_size for path in files) / 1e6)


def _is_below(path: Path, packages: Path, names: tuple[str, ...]) -> bool:
    parts = path.relative_to(packages).parts
    return parts[0].partition("-")[0] in names or "__pycache__" in parts
