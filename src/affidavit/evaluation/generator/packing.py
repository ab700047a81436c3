"""Puts a bundle on disk the way its collector would have packed it, with fixed times, owners and order."""

import io
import zipfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from affidavit.evaluation.generator.archives import GzipSink, tarball
from affidavit.evaluation.generator.bundle import GeneratedBundle
from affidavit.evaluation.generator.spec import Form


def write(bundle: GeneratedBundle, into: Path, form: Form) -> Path:
    """Write under the collector's own file name and return the path.

    Members are the same everywhere; a `.tar.gz` or `.zip` is byte-identical wherever zlib compresses alike.
    """
    into.mkdir(parents=True, exist_ok=True)
    target = into / bundle.archive_name(form)
    match form:
        case Form.DIRECTORY:
            _write_directory(bundle.files, target)
        case Form.ZIP:
            _write_zip(bundle.files, target, bundle.spec.collected_at)
        case Form.TAR | Form.TAR_GZ:
            packed = tarball(bundle.files, bundle.spec.collected_at, prefix=bundle.member_prefix)
            target.write_bytes(packed if form is Form.TAR else _compressed(packed))
    return target


def _compressed(content: bytes) -> bytes:
    packed = io.BytesIO()
    sink = GzipSink(packed)
    sink.write(content)
    sink.close()
    return packed.getvalue()


def _write_directory(contents: Mapping[str, bytes], target: Path) -> None:
    for path in sorted(contents):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_bytes(contents[path])


def _write_zip(contents: Mapping[str, bytes], target: Path, at: datetime) -> None:
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(contents):
            member = zipfile.ZipInfo(path, at.timetuple()[:6])
            member.compress_type = zipfile.ZIP_DEFLATED
            member.create_system = 0  # what a Windows collector leaves, and not this machine's own number
            archive.writestr(member, contents[path])
