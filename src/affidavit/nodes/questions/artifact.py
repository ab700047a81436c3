"""`artifact`: a short-lived link to one file of a bundle."""

from datetime import timedelta

from affidavit.errors import InputRefused
from affidavit.nodes.library.files_by_key import stored_file
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.object_keys import bundle_key
from affidavit.nodes.wire.files import ArtifactAnswer, ArtifactRequest


def artifact(library: Library, request: ArtifactRequest) -> ArtifactAnswer:
    if not bundle_key(request.log_key).is_of_bundle:
        raise InputRefused(
            f"{request.log_key!a} is no file of a bundle", hint="take key of list_bundle_files, or full_key of evidence"
        )
    stored = stored_file(library, request.log_key)
    lifetime = timedelta(minutes=request.expiration_minutes)
    url = library.objects.link(stored.key, seconds=int(lifetime.total_seconds()))
    return ArtifactAnswer(
        log_key=stored.key,
        url=url,
        size_bytes=stored.size,
        expires_at=library.clock.now() + lifetime if "://" in url else None,
    )
