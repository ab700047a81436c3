"""A bundle on disk says who it is from, and refuses to be analyzed when there is nothing to analyze."""

import gzip
from pathlib import Path

import pytest
from tests.support.archives.raw_archives import member, tar
from tests.support.archives.sources import unpack_into

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.tar import TarSource
from affidavit.bundle.unpacked_bundle import UNKNOWN_INSTANCE, StoredBundle, manifest_of, stored_bundle
from affidavit.errors import EvidenceUnavailable, InputRefused
from affidavit.evidence.finding import ByteRange, Evidence, LineRange

LOG = member("kernel/dmesg.current", b"one\ntwo\n")


def stored(folder: Path, *parts: bytes, name: str = "bundle.tar") -> StoredBundle:
    (folder / "bundle.tar").write_bytes(tar(*parts))
    source = TarSource(folder / "bundle.tar", limits=UnpackLimits())
    return stored_bundle(name, unpack_into(folder / "work", source))


def evidence_in(path: str) -> Evidence:
    span, lines = ByteRange(start=4, end=7), LineRange(start=2, end=2)
    return Evidence(
        source_file=path,
        full_key=path,
        excerpt="two",
        byte_offset=span,
        line_range=lines,
        sha256="0" * 64,
        timestamp=None,
    )


@pytest.mark.parametrize(
    ("note", "name", "expected"),
    [
        (b"i-0123456789abcdef0\n", "renamed.tar", "i-0123456789abcdef0"),
        (b"i-0123456789abcdef0", "eks_i-0fedcba9876543210_x.tar", "i-0123456789abcdef0"),
        (b"curl: (7) Failed to connect", "eks_i-0fedcba9876543210_x.tar", "i-0fedcba9876543210"),
        (b"\xff\x00", "eks_i-12345678.tar", "i-12345678"),
        (b"", "bundle.tar", UNKNOWN_INSTANCE),
        (b"", "wiki-01234567.tar", UNKNOWN_INSTANCE),
    ],
)
def test_the_collectors_note_tells_the_instance_before_the_name_does(
    note: bytes, name: str, expected: str, tmp_path: Path
) -> None:
    bundle = stored(tmp_path, LOG, member("system/instance-id.txt", note), name=name)
    assert bundle.instance_id == expected
    assert bundle.key_of(bundle.files[0]) == f"eks_{expected}/extracted/kernel/dmesg.current"


def test_bytes_and_line_ends_are_read_by_bundle_path(tmp_path: Path) -> None:
    bundle = stored(tmp_path, LOG)
    evidence = evidence_in("kernel/dmesg.current")
    assert bundle.read(evidence, ByteRange(start=4, end=7)) == b"two"
    assert bundle.read(evidence, ByteRange(start=4, end=700)) == b"two\n"
    assert bundle.newlines_before(evidence, 4) == 1
    with pytest.raises(EvidenceUnavailable, match=r"has no kernel/other"):
        bundle.read(evidence_in("kernel/other"), ByteRange(start=0, end=1))


def test_a_bundle_without_logs_says_how_many_files_it_has(tmp_path: Path) -> None:
    with pytest.raises(InputRefused, match=r"bundle.tar has 2 files and none of them is a node's log") as raised:
        stored(tmp_path, member("a.jpg", b"x"), member("b.jpg", b"x"))
    assert "expected a node log bundle" in raised.value.hint


def test_a_bundle_of_refused_members_names_the_first_of_them(tmp_path: Path) -> None:
    with pytest.raises(InputRefused) as raised:
        stored(tmp_path, *(member(f"../{number}", b"x") for number in range(9)))
    assert str(raised.value) == (
        "nothing in bundle.tar can be analyzed: "
        + "; ".join(f"../{number}: refused: its name leaves the bundle" for number in range(5))
        + " (and 4 more)"
    )
    assert "collect the bundle again" in raised.value.hint


def test_the_manifest_lists_what_was_taken_and_what_was_not(tmp_path: Path) -> None:
    bundle = stored(tmp_path, LOG, member("../x", b"x"), member("kubelet/config.json", b"{}"))
    manifest = manifest_of(bundle, archive=tmp_path / "bundle.tar", digests=("m", "s"), seconds=1.5)
    assert [(file.relative_path, file.status, file.size_bytes) for file in manifest.expected_files] == [
        ("../x", "skipped", 0),
        ("kernel/dmesg.current", "extracted", 8),
        ("kubelet/config.json", "extracted", 2),
    ]
    assert (manifest.total_files, manifest.total_size_bytes, manifest.extraction_duration_ms) == (3, 10, 1500)
    assert manifest.file_type_summary == {"log": 1, "config": 1, "binary": 0, "unknown": 1}
    assert manifest.source_archive_size_bytes == (tmp_path / "bundle.tar").stat().st_size


A, B = "i-0123456789abcdef0", "i-0fedcba9876543210"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ((f"eks_{A}_1.tar.gz", f"eks_{B}_1.tar.gz"), f"bundles of 2 nodes: {A}, {B}"),
        ((f"eks_{A}_1.tar.gz", f"eks_{A}_2.tar.gz"), f"2 bundles of one node: eks_{A}_1.tar.gz, eks_{A}_2.tar.gz"),
        ((f"eks_{A}", f"eks_{B}"), f"bundles of 2 nodes: {A}, {B}"),
    ],
)
def test_several_bundles_are_never_taken_for_one(names: tuple[str, ...], told: str, tmp_path: Path) -> None:
    with pytest.raises(InputRefused) as refused:
        stored(tmp_path, *(nested(name) for name in names), name="mix")
    assert str(refused.value) == f"mix holds {told}"
    assert "fleet add" in refused.value.hint


def test_the_notes_of_collectors_tell_nodes_apart_whatever_their_folders_are_called(tmp_path: Path) -> None:
    notes = [member(f"{folder}/system/instance-id.txt", node.encode()) for folder, node in (("x", A), ("y", B))]
    with pytest.raises(InputRefused, match="bundles of 2 nodes"):
        stored(tmp_path, LOG, *notes)


def test_a_bundle_inside_a_bundle_is_one_of_the_same_node(tmp_path: Path) -> None:
    note = member("system/instance-id.txt", A.encode())
    assert stored(tmp_path, note, nested(f"eks_{A}_1.tar.gz"), nested("bottlerocket-logs.tar.gz")).instance_id == A


def test_a_folder_that_is_called_after_another_node_is_taken(tmp_path: Path) -> None:
    note = member("system/instance-id.txt", A.encode())
    assert stored(tmp_path, note, nested(f"copied-from-{B}")).instance_id == A


def nested(name: str) -> bytes:
    """An archive with a log in it, or a folder."""
    return (
        member(name, gzip.compress(tar(LOG))) if name.endswith(".gz") else member(f"{name}/kernel/dmesg.current", b"")
    )
