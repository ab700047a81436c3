"""Tar headers with their extensions, read one block at a time.

The standard library parses single blocks. Extensions (PAX records, GNU long names, sparse maps) are gathered here:
its own way of doing that calls itself once per extension, and in some versions searches them with patterns that a
hostile header of a few KiB can keep busy for minutes.
"""

import tarfile
from typing import Protocol

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.safety.paths import shown
from affidavit.bundle.sources.source import Member, MemberDamaged, MemberKind, believable_time
from affidavit.errors import AffidavitError

BLOCK = tarfile.BLOCKSIZE
_PAX = (tarfile.XHDTYPE, tarfile.SOLARIS_XHDTYPE)
_GNU_LONG = (tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK)
_EXTENSIONS = (*_PAX, *_GNU_LONG, tarfile.XGLTYPE)
_WITHOUT_CONTENT = (
    tarfile.LNKTYPE,
    tarfile.SYMTYPE,
    tarfile.DIRTYPE,
    tarfile.FIFOTYPE,
    tarfile.CHRTYPE,
    tarfile.BLKTYPE,
)
_MAGIC = slice(257, 262)
_NAME = slice(0, 100)
_TYPE = slice(156, 157)
# Where a GNU sparse header, and each further block of its map, says that one more block follows.
_SPARSE_GOES_ON = 482
_MAP_GOES_ON = 504
# Sizes below this fit the plain header; writers use a PAX record only above it.
_NEEDS_PAX_SIZE = 8**11
_RECORDS = 200
_DIGITS = 20
_MISLEADING = ("path", "linkpath", "size", "GNU.sparse")


class HeaderDamaged(AffidavitError):
    """This block is no header that can be believed; a good one may follow."""


class EndMarkMissing(AffidavitError):
    """The archive ends where a header or the end mark should be."""


class Blocks(Protocol):
    def read(self, size: int) -> bytes:
        """Fewer bytes only at the end of the archive. Raises MemberDamaged."""
        ...


class HeaderReader:
    """`problems` receives what is wrong with headers that belong to no single member."""

    def __init__(self, blocks: Blocks, limits: UnpackLimits, problems: list[str]) -> None:
        self._blocks = blocks
        self._limits = limits
        self._problems = problems
        self._headers = 0
        self._is_misled = False

    def next_member(self, block: bytes = b"") -> Member | None:
        """None at the end mark; `block` is a header that was read already.

        Raises:
            HeaderDamaged: look for the next good header.
            EndMarkMissing, MemberDamaged: nothing more can be read.
        """
        extensions = _Extensions()
        while True:
            block = block or self._block()
            if is_end_mark(block):
                self._end(extensions)
                return None
            info = parse_block(block)
            self._count()
            if info.type not in _EXTENSIONS:
                return self._member(info, block, extensions)
            self._extend(extensions, info)
            block = b""

    def _end(self, extensions: "_Extensions") -> None:
        if extensions.size:
            self._problems.append("the last header announces a member that is not there")

    def _block(self) -> bytes:
        block = self._blocks.read(BLOCK)
        if not block:
            raise EndMarkMissing("the archive has no end mark: it may be cut short")
        if len(block) < BLOCK:
            raise EndMarkMissing("the archive ends inside a header")
        return block

    def _count(self) -> None:
        self._headers += 1
        if self._headers > self._limits.headers:
            raise MemberDamaged(f"it has more than {self._limits.headers} headers")

    def _extend(self, extensions: "_Extensions", info: tarfile.TarInfo) -> None:
        if info.size > self._limits.header_bytes:
            raise HeaderDamaged(f"an extended header claims {info.size} bytes")
        payload = self._blocks.read(padded(info.size))
        if len(payload) < info.size:
            raise EndMarkMissing("the archive ends inside an extended header")
        extensions.size += BLOCK + len(payload)
        if extensions.size > self._limits.header_bytes:
            extensions.trouble = f"its extended headers take more than {self._limits.header_bytes} bytes"
        elif info.type == tarfile.XGLTYPE:
            self._judge_global(payload[: info.size])
        else:
            extensions.add(info.type, payload[: info.size])

    def _judge_global(self, payload: bytes) -> None:
        """Honest ones carry comments. One that renames or resizes every member at once is not followed."""
        try:
            misleading = sorted(key for key in pax_records(payload) if key.startswith(_MISLEADING))
        except HeaderDamaged as error:
            misleading = [str(error)]
        if misleading and not self._is_misled:
            self._is_misled = True
            self._problems.append(f"a global header was ignored, as it changes all members: {shown(misleading[0])}")

    def _member(self, info: tarfile.TarInfo, block: bytes, extensions: "_Extensions") -> Member:
        if info.type == tarfile.GNUTYPE_SPARSE:
            self._skip_sparse_map(is_more=block[_SPARSE_GOES_ON] != 0)
        if block[_TYPE] == tarfile.AREGTYPE and extensions.names_a_file:
            info.type = tarfile.REGTYPE
        member = extensions.applied_to(info)
        if member.size > self._limits.total_bytes:
            raise HeaderDamaged(f"{shown(member.name)} claims {member.size} bytes")
        return member

    def _skip_sparse_map(self, *, is_more: bool) -> None:
        for _ in range(self._limits.header_bytes // BLOCK):
            if not is_more:
                return
            is_more = self._block()[_MAP_GOES_ON] != 0
        raise HeaderDamaged("the map of a sparse file has no end")


def is_end_mark(block: bytes) -> bool:
    return block.count(0) == BLOCK


def may_be_header(block: bytes) -> bool:
    """Cheap: for looking at very many blocks."""
    return block[_MAGIC] == b"ustar"


def padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def parse_block(block: bytes) -> tarfile.TarInfo:
    try:
        info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError, OverflowError) as error:
        raise HeaderDamaged(f"{_raw_name(block)}: {error}") from error
    if info.size < 0:
        raise HeaderDamaged(f"{shown(info.name)} claims {info.size} bytes")
    return info


def pax_records(payload: bytes) -> dict[str, str]:
    """Each is `<length> <key>=<value>\\n`, where the length is that of the whole record. Raises HeaderDamaged."""
    records: dict[str, str] = {}
    at = read = 0
    while at < len(payload):
        space = payload.find(b" ", at, at + _DIGITS)
        digits = payload[at:space] if space > 0 else b""
        end = at + int(digits) if digits.isdigit() else 0
        key, is_pair, value = payload[space + 1 : end - 1].partition(b"=")
        if not is_pair or not key or payload[end - 1 : end] != b"\n":
            raise HeaderDamaged("an extended header is no list of records")
        records[_text(key)] = _text(value)
        at, read = end, read + 1
        if read > _RECORDS:
            raise HeaderDamaged(f"an extended header has more than {_RECORDS} records")
    return records


class _Extensions:
    """What the headers in front of a member's own say about it. `trouble`: why the member cannot be taken."""

    def __init__(self) -> None:
        self.size = 0
        self.trouble = ""
        self._records: dict[str, str] = {}

    def add(self, kind: bytes, payload: bytes) -> None:
        if kind == tarfile.GNUTYPE_LONGNAME:
            self._records["path"] = _text(payload.split(b"\0", 1)[0])
        elif kind == tarfile.GNUTYPE_LONGLINK:
            self._records["linkpath"] = _text(payload.split(b"\0", 1)[0])
        else:
            try:
                self._records.update(pax_records(payload))
            except HeaderDamaged as error:
                self.trouble = str(error)

    @property
    def names_a_file(self) -> bool:
        """In the oldest form a slash at its end makes a folder of a file; the first bytes of a long name may end so."""
        return not self._records.get("path", "/").endswith("/")

    def applied_to(self, info: tarfile.TarInfo) -> Member:
        records = self._records
        size = self._content_size(info)
        kind = self._kind(info)
        return Member(
            name=records.get("GNU.sparse.name", records.get("path", info.name)),
            size=size,
            kind=MemberKind.UNREADABLE if self.trouble else kind,
            modified=believable_time(_number(records.get("mtime", ""), otherwise=info.mtime)),
            detail=self.trouble or records.get("linkpath", info.linkname),
        )

    def _content_size(self, info: tarfile.TarInfo) -> int:
        """How many bytes follow the header. Where the two sizes contradict each other, the plain one is followed."""
        if info.type in _WITHOUT_CONTENT:
            return 0
        claimed = self._records.get("size")
        if claimed is None:
            return info.size
        size = int(claimed) if claimed.isascii() and claimed.isdigit() and len(claimed) <= _DIGITS else -1
        if size < 0 or (size != info.size and size < _NEEDS_PAX_SIZE):
            self.trouble = self.trouble or f"its two headers disagree about its size: {info.size} and {shown(claimed)}"
            return info.size
        return size

    def _kind(self, info: tarfile.TarInfo) -> MemberKind:
        if info.type == tarfile.GNUTYPE_SPARSE or any(key.startswith("GNU.sparse") for key in self._records):
            return MemberKind.SPARSE
        if info.isreg():
            return MemberKind.FILE
        if info.isdir():
            return MemberKind.FOLDER
        return MemberKind.LINK if info.issym() or info.islnk() else MemberKind.DEVICE


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _number(text: str, *, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:
        return otherwise


def _raw_name(block: bytes) -> str:
    """What stands where the name should be, for a person to recognize the member by."""
    return shown(_text(block[_NAME].split(b"\0", 1)[0]))
