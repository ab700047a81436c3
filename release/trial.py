"""Installs the wheel into clean environments and runs commands there: each works, or names the extra it needs."""

import shutil
import subprocess
import venv
from dataclasses import dataclass
from pathlib import Path

MOST_CORE_MB = 120
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`works_with` is the extra that a command needs; empty: it works in the core."""

    arguments: tuple[str, ...]
    works_with: str = ""


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
        works_with="agent",
    ),
    Trial(arguments=("fleet", "add", "node"), works_with="fleet"),
    Trial(arguments=("sandbox", "up", "--detach"), works_with="aws"),
)


def try_core(wheel: Path, folder: Path, python: str) -> list[str]:
    """What went wrong in an environment with nothing but the wheel and what it asks for."""
    home = folder / f"core-{python}"
    bin_ = _environment(home, f"{wheel}", python)
    troubles = [trouble for trial in TRIALS if (trouble := _trouble(bin_, home, trial)) is not None]
    size = _megabytes(home)
    print(f"{python}: core takes {size} MB, compiled code left out")
    if size > MOST_CORE_MB:
        troubles.append(f"{python}: the core takes {size} MB, more than {MOST_CORE_MB}")
    return troubles


def try_extra(wheel: Path, folder: Path, extra: str) -> list[str]:
    """Whether an extra resolves, and whether the doctor then finds it."""
    home = folder / extra
    bin_ = _environment(home, f"{wheel}[{extra}]", "python3")
    said = _run(bin_, home, ("doctor",))
    is_there = any(line.startswith(f"✓ {extra} ") for line in said.stdout.splitlines())
    return [] if is_there else [f"{extra}: the doctor does not find it:\n{said.stdout}{said.stderr}"]


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


def _trouble(bin_: Path, home: Path, trial: Trial) -> str | None:
    done = _run(bin_, home, trial.arguments)
    said = done.stdout + done.stderr
    shown = f"affidavit {' '.join(trial.arguments)}"
    if trial.works_with:
        return None if f"affidavit[{trial.works_with}]" in said else f"{shown} does not name its extra: {said}"
    return None if done.returncode == 0 else f"{shown} ended with {done.returncode}: {said}"


def _run(bin_: Path, home: Path, arguments: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [str((bin_ / "affidavit").resolve()), *arguments]
    return subprocess.run(command, cwd=home, capture_output=True, text=True, timeout=300, check=False)


def _megabytes(home: Path) -> int:
    """Files of the installed packages, without pip and what pip brings, and without compiled code."""
    (packages,) = home.glob("lib/python*/site-packages")
    left_out = ("pip", "setuptools", "pkg_resources", "_distutils_hack", "__pycache__")
    files = (path for path in packages.rglob("*") if path.is_file() and not _is_below(path, packages, left_out))
    return round(sum(path.stat().st_size for path in files) / 1e6)


def _is_below(path: Path, packages: Path, names: tuple[str, ...]) -> bool:
    parts = path.relative_to(packages).parts
    return parts[0].partition("-")[0] in names or "__pycache__" in parts
