"""Writes a big bundle for measuring speed: streamed, in bounded memory, with an exact count of planted lines."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from affidavit.evaluation.generator.archives import END_OF_TAR, GzipSink, padding, tar_header
from affidavit.evaluation.generator.bulk.file_plan import BulkMember, plan
from affidavit.evaluation.generator.bulk.lines import Body, FileTally, LineMill, noise_bodies, planted_bodies
from affidavit.evaluation.generator.bundle import quiet_files
from affidavit.evaluation.generator.node_identity import GeneratedNode, node_of
from affidavit.evaluation.generator.spec import BundleSpec, Layout


@dataclass(frozen=True, kw_only=True)
class BulkSpec:
    """`density` is the fraction of log lines that are planted."""

    size_bytes: int
    density: float
    seed: int = 1
    extra_members: int = 0
    layout: Layout = Layout.AL2


@dataclass(frozen=True, kw_only=True)
class BulkPlant:
    """Where one planted text is: `stream` and `index` name it in what the caller gave. Lines start at 1."""

    file: str
    stream: str
    index: int
    count: int
    first_line: int
    first_offset: int
    """Byte offset of the beginning of the first line."""
    last_line: int


@dataclass(frozen=True, kw_only=True)
class BulkFile:
    file: str
    lines: int
    size: int


@dataclass(frozen=True, kw_only=True)
class BulkTruth:
    plants: tuple[BulkPlant, ...]
    files: tuple[BulkFile, ...]


def write_bulk(
    spec: BulkSpec,
    archive: Path | None,
    directory: Path | None,
    planted: Mapping[str, Sequence[str]],
) -> BulkTruth:
    """Write a bundle of about `size_bytes` as a `.tar.gz`, as a directory, or both, and say what is in it.

    `planted` maps a stream to the texts that its daemon may say; slots such as `@{klog}` are filled on each line.
    Raises ValueError for a stream that no file of a big bundle carries.
    """
    if spec.layout is not Layout.AL2:
        raise ValueError(f"big bundles are made in the al2 layout only, not {spec.layout}")
    node = node_of(BundleSpec(layout=spec.layout, seed=spec.seed))
    quiet = quiet_files(node.spec)
    members = plan(node, spec.size_bytes - sum(map(len, quiet.values())), spec.extra_members, planted)
    logs = {member.file: member for member in members}
    workshop = _Workshop(node=node, density=spec.density, planted=planted)
    plants: list[BulkPlant] = []
    files: list[BulkFile] = []
    with ExitStack() as closing:
        sink = _Sink(archive, directory, node.spec, closing)
        for path in sorted({**quiet, **logs}):
            if path in logs:
                tally = _write_log(sink, logs[path], workshop.mill(logs[path]))
                plants.extend(_plants(path, tally))
                files.append(BulkFile(file=path, lines=tally.lines, size=logs[path].size))
            else:
                sink.member(path, len(quiet[path]))
                sink.write(quiet[path])
                files.append(BulkFile(file=path, lines=_lines(quiet[path]), size=len(quiet[path])))
    return BulkTruth(plants=tuple(plants), files=tuple(files))


@dataclass(frozen=True, kw_only=True)
class _Workshop:
    """Makes the line mills. Files with the same content share one pool of lines."""

    node: GeneratedNode
    density: float
    planted: Mapping[str, Sequence[str]]
    pools: dict[str, list[Body]] = field(default_factory=dict[str, list[Body]])

    def mill(self, member: BulkMember) -> LineMill:
        pipe = next(iter(member.planted.values()))
        key = f"{member.form} {pipe} {sorted(member.noise.items())}"
        if key not in self.pools:
            self.pools[key] = noise_bodies(self.node, member.form, member.noise, pipe)
        planted = planted_bodies(self.node, member, self.planted)
        return LineMill(self.node, member, self.density, self.pools[key], planted)


def _write_log(sink: "_Sink", member: BulkMember, mill: LineMill) -> FileTally:
    sink.member(member.file, member.size)
    for block in mill.blocks():
        sink.write(block)
    return mill.tally


def _plants(file: str, tally: FileTally) -> Iterator[BulkPlant]:
    for (stream, index), seen in sorted(tally.plants.items()):
        yield BulkPlant(
            file=file,
            stream=stream,
            index=index,
            count=seen.count,
            first_line=seen.first_line,
            first_offset=seen.first_offset,
            last_line=seen.last_line,
        )


def _lines(content: bytes) -> int:
    return content.count(b"\n") + (not content.endswith(b"\n") if content else 0)


class _Sink:
    """One stream of members into an archive, a directory, or both."""

    def __init__(self, archive: Path | None, directory: Path | None, spec: BundleSpec, closing: ExitStack) -> None:
        self._at, self._directory, self._closing = spec.collected_at, directory, closing
        self._gzip = GzipSink(closing.enter_context(archive.open("wb"))) if archive else None
        self._file = ExitStack()
        self._write_file = None
        self._padding = b""
        closing.callback(self._finish)

    def member(self, path: str, size: int) -> None:
        self._end_member()
        if self._gzip:
            self._gzip.write(tar_header(f"./{path}", size, self._at))
            self._padding = padding(size)
        if self._directory:
            target = self._directory / path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._write_file = self._file.enter_context(target.open("wb")).write

    def write(self, content: bytes) -> None:
        if self._gzip:
            self._gzip.write(content)
        if self._write_file:
            self._write_file(content)

    def _end_member(self) -> None:
        if self._gzip:
            self._gzip.write(self._padding)
        self._file.close()

    def _finish(self) -> None:
        self._end_member()
        if self._gzip:
            self._gzip.write(END_OF_TAR)
            self._gzip.close()
