"""Results that are signed, checked by somebody with the public key, and touched on the way."""

from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed")
    bundle = write(generate(BundleSpec(layout=Layout.AL2023, faults=("oom",))), folder, Form.TAR_GZ)
    bundle.rename(folder / "bundle.tar.gz")
    assert affidavit("keys", "new", "--out", folder).returncode == 0
    done = affidavit("analyze", folder / "bundle.tar.gz", "--out", folder / "out", "--sign", folder / "affidavit.key")
    assert done.returncode == 0, done.stderr
    named = " ".join(done.stdout.split()).rpartition("Written to ")[2].partition(": ")[2].split(", ")
    assert {*named} == {path.name for path in (folder / "out").iterdir() if not path.name.startswith(".")}
    return folder


def verified(place: Path, key: str = "affidavit.pub") -> tuple[int, str]:
    done = affidavit("verify", place / "out" / "findings_index.json", place / "bundle.tar.gz", "--key", place / key)
    return done.returncode, " ".join(done.stdout.split())


def test_signed_results_hold_under_the_key(place: Path) -> None:
    code, said = verified(place)
    assert (code, "The signature is of this key" in said) == (0, True), said


def test_another_key_is_not_the_one(place: Path) -> None:
    affidavit("keys", "new", "--out", place / "other")
    code, said = verified(place, "other/affidavit.pub")
    assert (code, "is not signed by this key" in said) == (1, True), said


@pytest.mark.parametrize("name", ["report.html", "manifest.json", "findings_index.json"])
def test_a_file_that_was_touched_is_named(name: str, place: Path) -> None:
    file = place / "out" / name
    before = file.read_bytes()
    try:
        file.write_bytes(before + b" ")
        code, said = verified(place)
    finally:
        file.write_bytes(before)
    assert (code, f"{name} is not the file that was signed" in said) == (1, True), said


def test_results_that_nobody_signed_do_not_pass_for_signed(place: Path) -> None:
    statement = place / "out" / "statement.json"
    content = statement.read_bytes()
    try:
        statement.unlink()
        code, said = verified(place)
    finally:
        statement.write_bytes(content)
    assert (code, "nobody signed this index" in said) == (1, True), said


def test_sign_needs_a_place_for_the_statement(place: Path) -> None:
    done = affidavit("analyze", place / "bundle.tar.gz", "--sign", place / "affidavit.key")
    assert (done.returncode, "--out DIR" in done.stderr) == (2, True)
