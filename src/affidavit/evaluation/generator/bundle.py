"""Generates a bundle: a node, what its daemons said, and the tree one collector would have saved of it."""

import gzip
import io
import tarfile
from dataclasses import dataclass, replace

from affidavit.evaluation.generator.archives import stored_gzip, tarball
from affidavit.evaluation.generator.bundle_truth import BundleTruth
from affidavit.evaluation.generator.command_outputs import put_outputs
from affidavit.evaluation.generator.data_files import Data, load, mapping
from affidavit.evaluation.generator.faults import edits
from affidavit.evaluation.generator.logs import Streams, put_logs, streams_of
from affidavit.evaluation.generator.node_identity import GeneratedNode, node_of
from affidavit.evaluation.generator.spec import BundleSpec, Form
from affidavit.evaluation.generator.tree import Tree


@dataclass(frozen=True, kw_only=True)
class GeneratedBundle:
    """Paths in `files` are those inside the archive, with the collector's own top folder and without `./`."""

    spec: BundleSpec
    name: str
    files: dict[str, bytes]
    truth: BundleTruth
    member_prefix: str
    logs: frozenset[str]
    """What daemons wrote, named as the truth names files."""

    def archive_name(self, form: Form) -> str:
        """The name the collector gives; a directory has it without an ending."""
        return self.name if form is Form.DIRECTORY else f"{self.name}.{form.value}"

    def content(self, file: str) -> bytes:
        """The bytes whose lines the truth counts: rotated logs unpacked, nested archives looked into."""
        archive, _, member = file.partition(".tar.gz/")
        if member:
            return _member(self.files[f"{archive}.tar.gz"], member)
        return gzip.decompress(self.files[file]) if file.endswith(".gz") else self.files[file]


def generate(spec: BundleSpec) -> GeneratedBundle:
    """Raises ValueError for a fault that no file describes."""
    node, layout = node_of(spec), _layout(spec.layout)
    inner = _layout(str(mapping(layout["nested"])["layout"])) if "nested" in layout else None
    streams = streams_of(node, [layout, inner] if inner else [layout])
    tree = _filled(node, layout, streams)
    if inner:
        _nest(_filled(node, inner, streams), tree, at=str(mapping(layout["nested"])["file"]))
    return GeneratedBundle(
        spec=spec,
        name=node.writer("name").write(str(layout["name"])),
        files=dict(sorted(tree.files.items())),
        truth=BundleTruth(
            problems=tuple(sorted(tree.problems, key=lambda each: (each.file, each.lines))),
            silent=frozenset(tree.silent),
        ),
        member_prefix=str(layout.get("member_prefix", "./")),
        logs=frozenset(tree.logs),
    )


def quiet_files(spec: BundleSpec) -> dict[str, bytes]:
    """The bundle without its logs: what commands printed and what was copied."""
    layout = _layout(spec.layout)
    tree = Tree(node=node_of(spec), root=str(layout.get("root", "")))
    put_outputs(tree, layout, ())
    return tree.files


def _layout(name: str) -> Data:
    return mapping(load("layouts.yaml")[name])


def _filled(node: GeneratedNode, layout: Data, streams: Streams) -> Tree:
    tree = Tree(node=node, root=str(layout.get("root", "")))
    put_outputs(tree, layout, [edit for fault in node.spec.faults for edit in edits(node, fault)])
    put_logs(tree, layout, streams)
    return tree


def _nest(inner: Tree, outer: Tree, *, at: str) -> None:
    outer.files[at] = stored_gzip(tarball(inner.files, inner.node.spec.collected_at, prefix=""))
    outer.problems.extend(replace(problem, file=f"{at}/{problem.file}") for problem in inner.problems)
    outer.silent.extend((f"{at}/{file}", line) for file, line in inner.silent)
    outer.logs.update(f"{at}/{log}" for log in inner.logs)


def _member(archive: bytes, member: str) -> bytes:
    with tarfile.open(fileobj=io.BytesIO(archive)) as nested:
        found = nested.extractfile(member)
        if found is None:
            raise IsADirectoryError(member)
        return found.read()
