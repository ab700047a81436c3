"""Reads YAML files, and caches the parsed documents between runs.

Parsing takes most of the time of loading the catalogs. The cache keeps documents as JSON; a document that JSON cannot
hold is parsed every time.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from affidavit.matching.disk_cache import keep, read_kept
from affidavit.yaml_loading import load_yaml

DOCUMENTS = "documents"
_MOST = 16


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """`error` says why there is no document."""

    document: Any = None
    error: Exception | None = None


def read_yaml(files: Sequence[Traversable]) -> list[Parsed]:
    """Returns one result per file, in order."""
    texts = [_text_of(file) for file in files]
    name = hashlib.sha256(repr((yaml.__version__, texts)).encode()).hexdigest()[:32]
    kept = read_kept(DOCUMENTS, name)
    if kept is not None:
        return [Parsed(document=document) for document in json.loads(kept)]
    parsed = [_parse(text) for text in texts]
    _keep(name, parsed)
    return parsed


def _text_of(file: Traversable) -> str | Exception:
    try:
        return file.read_text("utf-8")
    except (UnicodeDecodeError, OSError) as error:
        return error


def _parse(text: str | Exception) -> Parsed:
    if isinstance(text, Exception):
        return Parsed(error=text)
    try:
        return Parsed(document=load_yaml(text))
    except yaml.YAMLError as error:
        return Parsed(error=error)


def _keep(name: str, parsed: list[Parsed]) -> None:
    if any(each.error is not None for each in parsed):
        return
    documents = [each.document for each in parsed]
    try:
        text = json.dumps(documents)
    except (TypeError, ValueError):
        return
    if json.loads(text) == documents:
        keep(DOCUMENTS, name, text.encode(), most=_MOST)
