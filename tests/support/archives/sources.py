"""Read sources to their end, as unpacking does."""

from dataclasses import dataclass
from pathlib import Path

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.source import Member, MemberDamaged, MemberKind, Source
from affidavit.bundle.unpack import Unpacked, UnpackedFile, unpack
from tests.support.archives.bundles import NoProgress


@dataclass(frozen=True, kw_only=True)
class Read:
    """A member, the bytes it gave, and the damage behind them."""

    member: Member
    content: bytes
    damage: str


def read_all(source: Source, *, piece: int = 65_536) -> list[Read]:
    return [_read(source, member, piece) for member in source.members()]


def read_rest(source: Source, *, piece: int = 65_536) -> tuple[bytes, str]:
    """What the current member still has, and why it ended if that was not its end."""
    content = bytearray()
    view = memoryview(bytearray(piece))
    try:
        while count := source.readinto(view):
            content += view[:count]
    except MemberDamaged as error:
        return bytes(content), str(error)
    return bytes(content), ""


def _read(source: Source, member: Member, piece: int) -> Read:
    content, damage = read_rest(source, piece=piece) if member.kind is MemberKind.FILE else (b"", "")
    return Read(member=member, content=content, damage=damage)


class Nobody:
    def grown(self, path: str, location: Path, size: int, read_as: str) -> None:
        pass

    def finished(self, path: str, location: Path, size: int, read_as: str) -> None:
        pass


def unpack_into(folder: Path, source: Source, *, limits: UnpackLimits | None = None) -> Unpacked:
    folder.mkdir(parents=True, exist_ok=True)
    try:
        into = folder / "extracted"
        return unpack(source, into=into, limits=limits or UnpackLimits(), watcher=Nobody(), progress=NoProgress())
    finally:
        source.close()


def by_path(unpacked: Unpacked) -> dict[str, UnpackedFile]:
    return {file.path: file for file in unpacked.files}
