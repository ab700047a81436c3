"""Find the stored file that a caller's key names."""

from affidavit.errors import NotFound
from affidavit.nodes.keys import EXTRACTED, bundle_key, prefix_of
from affidavit.nodes.library import Library
from affidavit.ports import StoredObject


def stored_file(library: Library, key: str) -> StoredObject:
    """`eks_i-…/extracted/x` also names a file of the current bundle when that lies elsewhere and no file is there.

    Raises InputRefused for a key outside an instance's prefix, NotFound when nothing is stored under it.
    """
    wanted = bundle_key(key)
    found = library.objects.head(wanted.full) or _in_current_bundle(library, wanted.instance_id, wanted.rest)
    if found is None:
        raise NotFound(f"there is no file {wanted.full!a}", hint="call list_bundle_files to see what there is")
    return found


def _in_current_bundle(library: Library, instance_id: str, rest: str) -> StoredObject | None:
    markers = library.markers(instance_id) if rest.startswith(f"{EXTRACTED}/") else []
    if not markers or markers[0].home == prefix_of(instance_id):
        return None
    return library.objects.head(f"{markers[0].home}/{rest}")
