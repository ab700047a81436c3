"""Says whether the node that a bundle claims to be from brought it.

S3 names in its event who wrote an object. The credentials of an instance profile carry the instance's id as the name of
their session: EC2 sets it, and the node cannot choose it. Without such a proof, a bundle of one node could be filed as
the newest of another.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

# `AWS:AROA…:i-0123456789abcdef0`; a user has no session.
_SESSION = re.compile(r"(?:AWS:)?AROA[A-Z0-9]+:([^:]{1,100})")
_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
# A machine outside of EC2 that Systems Manager manages; its bundle need not carry that name.
_HYBRID_NODE = re.compile(r"mi-[0-9a-f]{8,17}")
# The runbook puts the id of its execution behind the node's: `eks_<instance id>_<execution id>.tar.gz`.
_EXECUTION = re.compile(r"_([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.(?:tar\.gz|tgz|zip)$")


class OriginProof(StrEnum):
    PROVEN = "proven"
    UNPROVEN = "unproven"


@dataclass(frozen=True, kw_only=True)
class Uploader:
    """Who wrote an object, as S3 tells. `node_of` says for which node we started an execution, if we did."""

    principal: str
    node_of: Callable[[str], str | None] = lambda _: None


@dataclass(frozen=True, kw_only=True)
class UploadOrigin:
    """`note` says why it is unproven."""

    proof: OriginProof
    note: str = ""


def origin_of_upload(instance_id: str, key: str, uploader: Uploader) -> UploadOrigin | None:
    """None for the upload of somebody who is no node: a person or a program that the bucket's owner trusts."""
    session = _SESSION.fullmatch(uploader.principal)
    name = session[1] if session is not None else ""
    if name == instance_id:
        return UploadOrigin(proof=OriginProof.PROVEN)
    if _INSTANCE.fullmatch(name):
        return _unproven(f"it was uploaded by {name}")
    execution = _EXECUTION.search(key)
    collected = uploader.node_of(execution[1]) if execution is not None else None
    if collected == instance_id:
        return UploadOrigin(proof=OriginProof.PROVEN)
    if collected is not None:
        return _unproven(f"its name is that of a collection of {collected}")
    if _HYBRID_NODE.fullmatch(name):
        return _unproven(f"it was uploaded by {name}")
    return None if uploader.principal else _unproven("S3 does not say who uploaded it")


def _unproven(note: str) -> UploadOrigin:
    return UploadOrigin(proof=OriginProof.UNPROVEN, note=note)
