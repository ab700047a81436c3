"""Reads the whole state of a function that a repair may have to bring back."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property

from affidavit.known_good.function_configuration import read_concurrency, read_configuration
from affidavit.known_good.function_network import read_network
from affidavit.known_good.role_permissions import read_permissions
from affidavit.known_good.state_assembly import Sheet, canonical_bytes
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import StateInspector

FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class FunctionState:
    """`document` is what AWS answered, cut down to what can be set; `why_not_read` says what is missing from it."""

    document: Item
    why_not_read: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def function_arn(self) -> str:
        return str(self.document["function"])

    @cached_property
    def data(self) -> bytes:
        return canonical_bytes(self.document)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def read_state(inspector: StateInspector, name: str, *, digest_key: bytes) -> FunctionState:
    """Raises NotFound when there is no such function. Of environment variables only keyed digests are kept."""
    function = inspector.function(name)
    sheet = Sheet()
    read_configuration(sheet, inspector, function, digest_key=digest_key)
    read_concurrency(sheet, inspector, name)
    read_permissions(sheet, inspector, function)
    read_network(sheet, inspector, function)
    document: Item = {
        **sheet.document,
        "format": FORMAT,
        "function": str(function["FunctionArn"]),
        "not_read": sorted(sheet.not_read),
    }
    return FunctionState(document=document, why_not_read=sheet.not_read)
