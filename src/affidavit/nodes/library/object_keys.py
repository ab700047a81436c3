"""Where things lie in the object store, and which keys a caller may name."""

import re
from dataclasses import dataclass

from affidavit.errors import InputRefused

_INSTANCE = re.compile(r"(?<![0-9a-z])i-[0-9a-f]{8,17}(?![0-9a-f])")
_LOG_KEY = re.compile(r"eks_(i-[0-9a-f]{8,17})/(.+)", re.DOTALL)
_SEPARATORS = re.compile(r"[/\\]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

MANIFEST = "manifest.json"
INDEX = "findings_index.json"
EXTRACTED = "extracted"
METADATA = "metadata"
SEARCHES = "searches"
REGION = f"{METADATA}/region.txt"


def prefix_of(instance_id: str) -> str:
    return f"eks_{instance_id}"


def home_key(instance_id: str) -> str:
    """Says which bundle owns the instance's own layout."""
    return f"{prefix_of(instance_id)}/{METADATA}/home.json"


def other_home(instance_id: str, bundle_id: str) -> str:
    return f"{prefix_of(instance_id)}/bundles/{bundle_id}"


def markers_prefix(instance_id: str) -> str:
    return f"{prefix_of(instance_id)}/{METADATA}/indexes/"


def marker_key(instance_id: str, index_id: str) -> str:
    return f"{markers_prefix(instance_id)}{index_id}.json"


def archive_key(home: str, instance_id: str) -> str:
    return f"{home}/{instance_id}_eks-log-collector.tar.gz"


def instance_in(text: str) -> str | None:
    found = _INSTANCE.search(text)
    return found[0] if found is not None else None


def instance_of(folder: str) -> str | None:
    """Whose prefix `folder` is; None when it is nobody's."""
    found = instance_in(folder)
    return found if found is not None and folder == prefix_of(found) else None


@dataclass(frozen=True, kw_only=True, slots=True)
class BundleKey:
    """A key under an instance's prefix; `rest` is what follows the prefix."""

    instance_id: str
    rest: str

    @property
    def full(self) -> str:
        return f"{prefix_of(self.instance_id)}/{self.rest}"

    @property
    def is_of_bundle(self) -> bool:
        """Not what is kept beside the bundles: searches that somebody made, and who owns what."""
        return self.rest.partition("/")[0] not in (SEARCHES, METADATA) or self.rest == REGION


def bundle_key(key: str) -> BundleKey:
    """Raises InputRefused for a key that lies, or could lead, outside an instance's prefix."""
    found = _LOG_KEY.fullmatch(key)
    if found is None:
        raise _refused(key, "it does not lie under eks_<instance id>/")
    if _CONTROL.search(key):
        raise _refused(key, "it holds control characters")
    if any(part in (".", "..") for part in _SEPARATORS.split(found[2])) or "" in found[2].split("/"):
        raise _refused(key, "it has an empty, . or .. segment")
    return BundleKey(instance_id=found[1], rest=found[2])


def _refused(key: str, why: str) -> InputRefused:
    return InputRefused(
        f"log key {key[:200]!a} cannot be used: {why}",
        hint="take full_key of a finding's evidence, or key of list_bundle_files",
    )
