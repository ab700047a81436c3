"""Bundles made by hand, in every form, and the analysis of them."""

import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.investigation import Analysis, analyze
from affidavit.knowledge import Knowledge
from affidavit.rules.pack import RulePack

NAME = "eks_i-0123456789abcdef0_2026-01-15_1030-UTC_0.7.9"


class NoProgress:
    def unpacked(self, path: str, consumed: int, stored: int) -> None:
        pass


def make_tar(path: Path, members: Iterable[tuple[tarfile.TarInfo, bytes]], *, mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else info.size
            archive.addfile(info, io.BytesIO(content))
    return path


def file_member(name: str, content: bytes) -> tuple[tarfile.TarInfo, bytes]:
    return tarfile.TarInfo(name), content


def write_form(files: Mapping[str, bytes], into: Path, form: str, *, name: str = NAME) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    if form == "directory":
        for path, content in files.items():
            (into / name / path).parent.mkdir(parents=True, exist_ok=True)
            (into / name / path).write_bytes(content)
        return into / name
    if form == "zip":
        with zipfile.ZipFile(into / f"{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content)
        return into / f"{name}.zip"
    members = [file_member(f"./{path}", content) for path, content in files.items()]
    return make_tar(into / f"{name}.{form}", members, mode="w:gz" if form == "tar.gz" else "w")


def analyze_at(
    path: Path, pack: RulePack | Knowledge, workspace: Path, *, workers: int = 1, limits: UnpackLimits | None = None
) -> Analysis:
    workspace.mkdir(parents=True, exist_ok=True)
    knowledge = pack if isinstance(pack, Knowledge) else Knowledge(pack=pack, checks=())
    return analyze(
        path, knowledge=knowledge, workspace=workspace, progress=NoProgress(), workers=workers, limits=limits
    )


def analyze_files(
    files: Mapping[str, bytes],
    pack: RulePack,
    folder: Path,
    *,
    form: str = "tar.gz",
    workers: int = 1,
    name: str = NAME,
) -> Analysis:
    path = write_form(files, folder / "in", form, name=name)
    return analyze_at(path, pack, folder / "work", workers=workers)
