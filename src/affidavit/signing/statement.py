"""In-toto statements about what was found: which bytes they are about, and what made it."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from affidavit.bundle.manifest import Manifest
from affidavit.index.findings_index import FindingsIndex, index_document

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
INDEX_PREDICATE = "urn:affidavit:findings-index:v1"
DIAGNOSIS_PREDICATE = "urn:affidavit:diagnosis:v1"
STATEMENT_NAME = "statement.json"
INDEX_NAME = "findings_index.json"


def index_statement(index: FindingsIndex, manifest: Manifest, files: Mapping[str, bytes]) -> dict[str, Any]:
    """About the archive and the files that were written: the index, the report, a diagnosis."""
    subjects = {name: _digest(content) for name, content in files.items()}
    if manifest.source_archive_sha256 is not None:
        subjects[manifest.source_archive] = manifest.source_archive_sha256
    predicate = {
        "indexId": index.index_id,
        "instanceId": index.instance_id,
        "rulePack": index.rules_version,
        "indexerVersion": index.indexer_version,
        "bundleDigest": index.bundle_digest,
        "coverage": index_document(index)["coverage"],
    }
    return statement_about(subjects, INDEX_PREDICATE, predicate)


def diagnosis_statement(incident_id: str, files: Mapping[str, bytes], verdict: Mapping[str, Any]) -> dict[str, Any]:
    """About the files of an exported incident; `verdict` says what was verified."""
    subjects = {name: _digest(content) for name, content in files.items()}
    return statement_about(subjects, DIAGNOSIS_PREDICATE, {"incidentId": incident_id, "verdict": dict(verdict)})


def statement_about(subjects: Mapping[str, str], predicate_type: str, predicate: Mapping[str, Any]) -> dict[str, Any]:
    """`subjects` are sha256 digests by name."""
    named = [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())]
    return {
        "_type": STATEMENT_TYPE,
        "subject": named,
        "predicateType": predicate_type,
        "predicate": dict(predicate),
    }


def subject_differences(
    statement: Mapping[str, Any], files: Mapping[str, bytes], archive_sha256: str | None
) -> Iterator[str]:
    """Which subjects of a signed statement are not the files at hand. A signed file that is missing is told, too."""
    subjects = {str(each["name"]): str(each["digest"]["sha256"]) for each in _subjects(statement)}
    if INDEX_NAME not in subjects:
        yield "statement: it is not about an index"
    for name, digest in subjects.items():
        if name in files and _digest(files[name]) != digest:
            yield f"statement: {name} is not the file that was signed"
        # A directory has no digest to hold against that of the archive.
        elif name not in files and archive_sha256 not in (None, digest):
            yield f"statement: {name} was signed and is neither beside the index nor the archive at hand"


def _subjects(statement: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = statement.get("subject")
    return cast(list[dict[str, Any]], found) if isinstance(found, list) else []


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
