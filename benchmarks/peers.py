"""The competitors: what an engineer would reach for without us."""

import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from affidavit.errors import InputRefused

RIPGREP = str(Path(sys.executable).with_name("rg"))


def igzip() -> str:
    """The command of ISA-L where it is installed, else the same library's Python front end."""
    return shutil.which("igzip") or f"{sys.executable} -m isal.igzip"


def shell(script: str) -> None:
    done = subprocess.run(["bash", "-c", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1):  # ripgrep ends with 1 when nothing matches
        raise InputRefused(f"{script}: {done.stderr.decode()}")


def ripgrep(patterns: Path, folder: Path, *, to: str = "/dev/null") -> str:
    # Piped through cat: with /dev/null as its output a search tool may stop at the first match.
    flags = "-j2 --no-unicode -a -n -b --no-messages"
    return f"{RIPGREP} {flags} -f {shlex.quote(str(patterns))} {shlex.quote(str(folder))} | cat > {shlex.quote(to)}"


def gzip_alone(archive: Path) -> str:
    return f"gzip -dc {shlex.quote(str(archive))} > /dev/null"


def igzip_alone(archive: Path) -> str:
    return f"{igzip()} -dc {shlex.quote(str(archive))} > /dev/null"


def chain(archive: Path, patterns: Path, into: Path) -> str:
    """Unpack, then both digests of every file and the search, side by side."""
    packed, out = shlex.quote(str(archive)), shlex.quote(str(into))
    files = f"{{ find {out}/files -type f -print0; printf '%s\\0' {packed}; }}"
    return (
        f"mkdir -p {out}/files && {igzip()} -dc {packed} | tar -xf - -C {out}/files && "
        f"{{ {files} | xargs -0 md5sum > {out}/md5 & {files} | xargs -0 sha256sum > {out}/sha256 & "
        f"{ripgrep(patterns, into / 'files', to=str(into / 'hits'))} & wait; }}"
    )
