"""What is no bundle is refused at once, with what it is and what was expected."""

import io
import os
from pathlib import Path

import pytest
from tests.support.archives.bundles import NAME, write_form
from tests.support.archives.raw_archives import gz, header, member, tar, zipped
from tests.support.archives.sources import read_all

from affidavit.bundle.safety.limits import UnpackLimits
from affidavit.bundle.sources.opening import EXPECTED, is_tar_header, open_bundle, save_stream
from affidavit.errors import EvidenceUnavailable, InputRefused

LIMITS = UnpackLimits()
LOG = {"kernel/dmesg.current": b"a line\n"}


def refusal(path: Path) -> InputRefused:
    with pytest.raises(InputRefused) as raised, open_bundle(path, limits=LIMITS):
        raise AssertionError("it was opened")
    return raised.value


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"%PDF-1.7 rest", "x is a PDF document"),
        (b"\x7fELF\x02", "x is a program"),
        (b"\x89PNG\r\n", "x is a picture"),
        (b"7z\xbc\xaf\x27\x1c", "x is a 7z archive"),
        (b"Rar!\x1a", "x is a RAR archive"),
        (b"Dear reader, this is a letter.\n" * 50, "x is no archive and no log"),
        (b"", "x is empty"),
        (gz(b"Dear reader, this is a letter.\n" * 50), "x is one compressed file, and neither an archive nor a log"),
        (gz(b"short"), "x is one compressed file, and neither an archive nor a log"),
        (bytes(2000), "x is no archive and no log"),
    ],
)
def test_a_file_that_is_no_bundle_is_named_for_what_it_is(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    error = refusal(tmp_path / "x")
    assert str(error) == message
    assert EXPECTED in error.hint


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gz(b"")[:5], "a gzip file with nothing readable in it"),
        (b"\x1f\x8b\x08\x00" + bytes(60), "a gzip file with nothing readable in it"),
        (b"PK\x03\x04 and then nothing", "a damaged zip archive"),
        (b"\xfd7zXZ\0", "a xz file with nothing readable in it"),
        (b"BZh9", "a bzip2 file with nothing readable in it"),
        (b"\x28\xb5\x2f\xfd", "a zstd file with nothing readable in it"),
    ],
)
def test_a_damaged_archive_is_to_be_copied_again(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(content)
    error = refusal(tmp_path / "x")
    assert message in str(error)
    assert error.hint == "copy it again, or collect again"


@pytest.mark.parametrize("name", ["gone", "gone/deeper"])
def test_a_path_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    error = refusal(tmp_path / name)
    assert str(error) == f"there is no {tmp_path / name}"
    assert EXPECTED in error.hint


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "loop", "file/below"])
def test_a_path_that_cannot_be_opened_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "file").write_bytes(b"x")
    assert "cannot be opened" in str(refusal(tmp_path / name))


def test_a_pipe_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    error = refusal(tmp_path / "pipe")
    assert "neither a file nor a directory" in str(error)
    assert EXPECTED in error.hint


@pytest.mark.parametrize("form", ["tar.gz", "tar", "zip", "directory"])
def test_every_form_of_a_bundle_opens_whatever_it_is_called(form: str, tmp_path: Path) -> None:
    path = write_form(LOG, tmp_path / "in", form)
    renamed = path.rename(tmp_path / "renamed")
    with open_bundle(renamed, limits=LIMITS) as opened:
        found = read_all(opened.source)
    assert [entry.content for entry in found] == [b"a line\n"]
    assert opened.name == "renamed"
    assert opened.archive == (None if form == "directory" else renamed)


def test_a_name_with_control_characters_is_shown_without_them(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31m\udcff.tar"
    path.write_bytes(tar(member("kernel/dmesg.current", b"x")))
    with open_bundle(path, limits=LIMITS) as opened:
        assert opened.name == "\\x1b[31m\\xff.tar"


def test_a_directory_without_logs_is_refused_after_the_beginnings_of_its_files(tmp_path: Path) -> None:
    for name in ("photos/a.jpg", "photos/b.jpg", "thesis.pdf", "backup.gz"):
        (tmp_path / "home" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "home" / name).write_bytes(b"x")
    error = refusal(tmp_path / "home")
    assert str(error) == "home has 4 files and none of them is a node's log"
    assert EXPECTED in error.hint


@pytest.mark.parametrize("name", ["kernel/dmesg.current", "top/kernel/dmesg.current", "bundle.tar.gz", "bundle.tgz"])
def test_a_directory_is_opened_for_a_single_name_that_may_hold_logs(name: str, tmp_path: Path) -> None:
    for file in ("a.jpg", name, "z.jpg"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(b"x")
    with open_bundle(tmp_path, limits=LIMITS) as opened:
        assert len(list(opened.source.members())) == 3


def test_what_was_extracted_earlier_is_a_bundle_too(tmp_path: Path) -> None:
    write_form(LOG, tmp_path, "directory", name="extracted")
    (tmp_path / "manifest.json").write_text("{}")
    with open_bundle(tmp_path, limits=LIMITS) as opened:
        assert [member.name for member in opened.source.members()] == ["kernel/dmesg.current"]


def test_standard_input_that_cannot_be_kept_is_told(tmp_path: Path) -> None:
    assert save_stream(io.BytesIO(b"bytes"), tmp_path / "kept").read_bytes() == b"bytes"
    with pytest.raises(EvidenceUnavailable, match="could not be stored: No space left on device") as raised:
        save_stream(io.BytesIO(b"x" * 100_000), Path("/dev/full"))
    assert "TMPDIR" in raised.value.hint


def test_a_tar_header_is_told_by_its_checksum() -> None:
    assert is_tar_header(header(b"x"))
    assert is_tar_header(header(b"x", magic=bytes(8)))
    assert not is_tar_header(header(b"x")[:511])
    assert not is_tar_header(bytes(512))
    assert not is_tar_header(b"text " * 200)


def test_an_empty_archive_is_no_bundle(tmp_path: Path) -> None:
    for number, content in enumerate((gz(tar()), zipped())):
        path = tmp_path / f"{NAME}-{number}"
        path.write_bytes(content)
        with open_bundle(path, limits=LIMITS) as opened:
            assert read_all(opened.source) == []
