"""Find the stored file that a caller's key names. Only files of a bundle that has been indexed exist for callers."""

from affidavit.errors import InputRefused, NotFound
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import EXTRACTED, REGION, BundleKey, bundle_key, other_home, prefix_of
from affidavit.ports.object_store import StoredObject

_OTHER_BUNDLES = "bundles"


def stored_file(library: Library, key: str) -> StoredObject:
    """`eks_i-…/extracted/x` also names a file of the current bundle when that lies elsewhere and no file is there.

    Raises InputRefused for a key outside an instance's prefix, NotFound when nothing is stored under it, or when no
    marker has made its bundle visible: a half-written bundle, kept searches and notes of ours are nobody's to read.
    """
    wanted = bundle_key(key)
    markers = library.markers(wanted.instance_id)
    found: StoredObject | None = None
    if wanted.is_of_bundle and _home_of(wanted) in {marker.home for marker in markers}:
        found = library.objects.head(wanted.full)
    if found is None and markers and wanted.rest.startswith(f"{EXTRACTED}/"):
        found = library.objects.head(f"{markers[0].home}/{wanted.rest}")
    if found is None:
        raise NotFound(f"there is no file {wanted.full!a}", hint="call list_bundle_files to see what there is")
    return found


def log_file(library: Library, key: str) -> StoredObject:
    """A file that came from the node. Our own records beside it are refused.

    The index and the manifest hold digests of raw lines and files: with those, hidden text can be guessed offline.
    """
    wanted = bundle_key(key)
    if wanted.is_of_bundle and not _is_from_the_node(wanted):
        raise InputRefused(
            f"{wanted.full!a} is a record of ours, not a log",
            hint="ask errors, summarize or validate for what it says; read takes keys of list_bundle_files",
        )
    return stored_file(library, key)


def _is_from_the_node(key: BundleKey) -> bool:
    inside = key.full.removeprefix(f"{_home_of(key)}/")
    return inside.startswith(f"{EXTRACTED}/") or key.rest == REGION


def _home_of(key: BundleKey) -> str:
    """The bundle that a key lies in: the one that owns the instance's layout, or one of `bundles/`."""
    first, _, rest = key.rest.partition("/")
    if first != _OTHER_BUNDLES:
        return prefix_of(key.instance_id)
    return other_home(key.instance_id, rest.partition("/")[0])
