"""A manifest reads back as it was written, in the names other tools expect."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from affidavit.bundle.manifest import (
    FileStatus,
    FileType,
    Manifest,
    ManifestFile,
    manifest_from_json,
    manifest_to_json,
    summarize_types,
)

texts = st.text(st.characters(codec="utf-8"), max_size=20)
digests = st.none() | st.text("0123456789abcdef", min_size=32, max_size=32)
files = st.builds(
    ManifestFile,
    key=texts,
    relative_path=texts,
    size_bytes=st.integers(0, 1 << 60),
    md5=digests,
    sha256=digests,
    status=st.sampled_from(FileStatus),
    file_type=st.sampled_from(FileType),
    reason=st.none() | texts,
)


def a_manifest(*entries: ManifestFile, problems: tuple[str, ...] = ()) -> Manifest:
    return Manifest(
        version="2.0",
        instance_id="i-0123456789abcdef0",
        created_at=datetime(2026, 1, 15, 10, 30, tzinfo=UTC),
        source_archive="bundle.tar.gz",
        source_archive_size_bytes=10,
        source_archive_md5=None,
        source_archive_sha256=None,
        extraction_duration_ms=5,
        expected_files=entries,
        total_files=len(entries),
        total_size_bytes=sum(entry.size_bytes for entry in entries),
        file_type_summary=summarize_types(entries),
        problems=problems,
    )


@given(st.lists(files, max_size=5), st.lists(texts, max_size=3))
def test_a_manifest_reads_back_as_it_was_written(entries: list[ManifestFile], problems: list[str]) -> None:
    manifest = a_manifest(*entries, problems=tuple(problems))
    assert manifest_from_json(manifest_to_json(manifest)) == manifest


def test_only_a_file_with_a_reason_has_the_field() -> None:
    fine, failed = (
        ManifestFile(
            key="k",
            relative_path="p",
            size_bytes=1,
            md5=None,
            sha256=None,
            status=FileStatus.EXTRACTED,
            file_type=FileType.LOG,
            reason=reason,
        )
        for reason in (None, "it broke")
    )
    data = json.loads(manifest_to_json(a_manifest(fine, failed)))
    assert "reason" not in data["expected_files"][0]
    assert data["expected_files"][1]["reason"] == "it broke"
    assert (data["instanceId"], data["createdAt"]) == ("i-0123456789abcdef0", "2026-01-15T10:30:00Z")
    assert data["file_type_summary"] == {"log": 2, "config": 0, "binary": 0, "unknown": 0}


@pytest.mark.parametrize("text", [b"", b"{}", b"[]", b"null", b'{"version": 3}', b"\xff"])
def test_what_is_no_manifest_is_refused(text: bytes) -> None:
    with pytest.raises(ValidationError):
        manifest_from_json(text)
