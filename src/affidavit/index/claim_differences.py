"""Compares an index with one that was derived again from the bundle, and names the claims that do not agree."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from affidavit.bundle.manifest import Manifest, ManifestFile
from affidavit.index.findings_index import FindingsIndex
from affidavit.index.redacted import derived_document

# Compared by entry, or not at all: times of making, and the id, which is compared by itself.
_OWN = ("findings", "suppressed", "index_id", "indexedAt", "indexing_duration_ms", "manifest_ref")
_SHOWN = 120


def differences(claimed: Mapping[str, Any], derived: FindingsIndex) -> Iterator[str]:
    """Sentences that name each claim of the index that the bundle does not bear out."""
    truth = derived_document(derived, claimed)
    yield from _entries(claimed, truth, "findings", _finding_key)
    yield from _entries(claimed, truth, "suppressed", _suppressed_key)
    yield from _misnumbered(claimed, truth)
    for name in sorted({*claimed, *truth} - {*_OWN}):
        yield from _field(name, claimed.get(name), truth.get(name))
    prefix = f"eks_{derived.instance_id}/"
    reference = str(claimed.get("manifest_ref", ""))
    if not reference.startswith(prefix) or not reference.endswith("/manifest.json"):
        yield from _field("manifest_ref", claimed.get("manifest_ref"), truth["manifest_ref"])


def manifest_differences(claimed: Manifest, derived: Manifest) -> Iterator[str]:
    """Digests of an archive are compared where both were made from one; a directory has none."""
    theirs = {file.relative_path: file for file in claimed.expected_files}
    ours = {file.relative_path: file for file in derived.expected_files}
    for path in sorted({*theirs, *ours}):
        if path not in theirs or path not in ours:
            yield f"manifest: {path} is {'not in the bundle' if path in theirs else 'in the bundle and not listed'}"
        else:
            yield from _file_differences(theirs[path], ours[path])
    for name in ("total_files", "total_size_bytes", "file_type_summary"):
        yield from _field(f"manifest: {name}", getattr(claimed, name), getattr(derived, name))
    if claimed.source_archive_sha256 is not None and derived.source_archive_sha256 is not None:
        for name in ("source_archive_sha256", "source_archive_md5", "source_archive_size_bytes", "problems"):
            yield from _field(f"manifest: {name}", getattr(claimed, name), getattr(derived, name))


def _file_differences(said: ManifestFile, found: ManifestFile) -> Iterator[str]:
    names = ["size_bytes", "md5", "sha256", "status", "file_type", "reason"]
    # Manifests made before files were recognised by content do not say it.
    if said.recognised_by is not None:
        names.extend(("recognised_by", "recognised_as"))
    for name in names:
        yield from _field(f"manifest: {said.relative_path}: {name}", getattr(said, name), getattr(found, name))
    # The first folder names the node, as whoever stored the bundle knew it.
    said_key, found_key = said.key.partition("/")[2], found.key.partition("/")[2]
    yield from _field(f"manifest: {said.relative_path}: key", said_key, found_key)


def _entries(claimed: Mapping[str, Any], truth: Mapping[str, Any], kind: str, key_of: Any) -> Iterator[str]:
    theirs = _by_key(claimed.get(kind), key_of)
    ours = _by_key(truth[kind], key_of)
    for key, entry in ours.items():
        if key not in theirs:
            yield f"{_label(entry)} is in the bundle and not in the index"
    for key, entry in theirs.items():
        if key not in ours:
            yield f"{_label(entry)} is in the index and not in the bundle"
        else:
            yield from _entry(entry, ours[key])
    if len(theirs) != len(cast(Sequence[Any], claimed.get(kind) or ())):
        yield f"{kind}: one of them stands there twice"


def _entry(said: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    label = _label(found)
    for name in [*found, *(name for name in said if name not in found)]:
        if name == "evidence":
            yield from _evidence(label, said.get(name), found[name])
        else:
            yield from _field(f"{label}: {name}", said.get(name), found.get(name))


def _evidence(label: str, said: Any, found: Mapping[str, Any]) -> Iterator[str]:
    """Its key may name another folder in which the bundle of the same node is stored."""
    given = cast(dict[str, Any], said) if isinstance(said, dict) else {}
    home, _, place = str(given.get("full_key", "")).partition("/extracted/")
    own, _, own_place = str(found["full_key"]).partition("/extracted/")
    if place != own_place or not f"{home}/".startswith(f"{own}/"):
        yield from _field(f"{label}: full_key", given.get("full_key"), found["full_key"])
    for name in sorted({*given, *found} - {"full_key"}):
        yield from _field(f"{label}: {name}", given.get(name), found.get(name))


def _misnumbered(claimed: Mapping[str, Any], truth: Mapping[str, Any]) -> Iterator[str]:
    theirs = [_finding_key(entry) for entry in cast(Sequence[Any], claimed.get("findings") or ())]
    ours = [_finding_key(entry) for entry in truth["findings"]]
    if theirs != ours and sorted(theirs) == sorted(ours):
        yield "findings: they are not in their order"


def _field(name: str, said: object, found: object) -> Iterator[str]:
    if said != found:
        yield f"{name} is said to be {_short(said)}, the bundle gives {_short(found)}"


def _by_key(entries: Any, key_of: Any) -> dict[tuple[str, ...], Mapping[str, Any]]:
    return {key_of(entry): entry for entry in cast(Sequence[Mapping[str, Any]], entries or ())}


def _finding_key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return str(entry.get("rule")), _file_of(entry)


def _suppressed_key(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return str(entry.get("suppression")), str(entry.get("rule")), _file_of(entry)


def _file_of(entry: Mapping[str, Any]) -> str:
    evidence = entry.get("evidence")
    return str(cast(dict[str, Any], evidence).get("source_file")) if isinstance(evidence, dict) else ""


def _label(entry: Mapping[str, Any]) -> str:
    what = entry.get("finding_id") or f"suppressed by {entry.get('suppression')}"
    return f"{what} ({entry.get('pattern')}, {_file_of(entry)})"


def _short(value: object) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
