"""The one SSM document that repairs run on nodes: compared by its content, then pinned by SSM's version and hash."""

import hashlib
import json
from functools import cache
from pathlib import Path

from affidavit.errors import NotFound
from affidavit.ports.aws_reads_and_changes import StateReader
from affidavit.ports.json import Item
from affidavit.remediation.actions.source_document_values import at_path

NAME = "Affidavit-NodeRepair"


@cache
def document_content() -> str:
    """As it is deployed. A reboot exits with 194, by which SSM's agent reboots and comes back to the step."""
    return Path(__file__).with_name("repair_document.json").read_text()


def content_digest(content: str) -> str:
    """Ignores spaces and the order of keys, which deployment tools may change."""
    said = json.dumps(json.loads(content), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(said.encode()).hexdigest()


def deployed_document(reader: StateReader) -> Item | None:
    """Its version and SSM's hash of it, by which a command is pinned; None where it is missing or differs from ours."""
    try:
        live = reader.read("ssm", "describe_document", Name=NAME)["Document"]
        version = at_path(live, "DocumentVersion")
        raw = reader.read("ssm", "get_document", Name=NAME, DocumentVersion=version, DocumentFormat="JSON")
        digest = content_digest(str(raw.get("Content")))
    except (NotFound, ValueError):
        return None
    if digest != content_digest(document_content()) or at_path(live, "HashType") != "Sha256":
        return None
    return {"name": NAME, "version": version, "hash": at_path(live, "Hash"), "content_sha256": digest}
