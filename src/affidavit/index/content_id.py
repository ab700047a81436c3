"""Computes the content id of an index and the digest of the files it was made from."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, cast

from affidavit.bundle.unpack import UnpackedFile

# Fields that say when and how fast an index was made, and the id itself.
_NOT_CONTENT = ("index_id", "indexedAt", "indexing_duration_ms")
_STORED_FILES = "/extracted/"


def bundle_digest(files: Iterable[UnpackedFile]) -> str:
    """Of the names, states and contents of all files: the same whatever archive they came in."""
    digest = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        content = file.digests.sha256 if file.digests is not None else ""
        digest.update(f"{file.path}\0{file.status}\0{content}\n".encode())
    return digest.hexdigest()


def content_id(document: Mapping[str, Any]) -> str:
    """Of an index as JSON. Where it is stored is no content: a bundle's files may be moved to another folder."""
    content = {key: value for key, value in document.items() if key not in _NOT_CONTENT}
    content["manifest_ref"] = str(content.get("manifest_ref", "")).rpartition("/")[2]
    for entries in ("findings", "suppressed"):
        content[entries] = [_without_place(entry) for entry in cast(list[Any], content.get(entries, []))]
    return f"ix-{hashlib.sha256(canonical_json(content)).hexdigest()[:24]}"


def canonical_json(value: object) -> bytes:
    """RFC 8785 for what an index holds: keys in ASCII, whole numbers, and fractions of a few digits."""
    text = json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "surrogatepass")


def _without_place(entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    found = cast(dict[str, Any], entry)
    evidence = found.get("evidence")
    if not isinstance(evidence, dict):
        return found
    cited = cast(dict[str, Any], evidence)
    return {**found, "evidence": {**cited, "full_key": str(cited.get("full_key", "")).partition(_STORED_FILES)[2]}}


def _plain(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in cast(dict[str, object], value).items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in cast(list[object], value)]
    return value
