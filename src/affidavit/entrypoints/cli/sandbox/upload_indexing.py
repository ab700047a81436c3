"""Indexes what the sandbox's nodes upload, as the bucket's event does in AWS, and wakes incidents that wait for it."""

from functools import cache

from affidavit.adapters.aws.bundle_ready_publisher import SnsBundleNews
from affidavit.adapters.aws.clients import AwsClients
from affidavit.bootstrap import build_app, build_library
from affidavit.investigation import analyze
from affidavit.nodes.ingest.bundle_intake import ingest
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.sandbox.aws.automation import OnUpload
from affidavit.settings import Settings


def indexing() -> OnUpload:
    """Reads the settings at the first upload: by then the sandbox has set its variables."""

    @cache
    def library() -> Library:
        return build_library(build_app(Settings.from_environment()))

    @cache
    def news() -> SnsBundleNews:
        settings = Settings.from_environment()
        return SnsBundleNews(AwsClients(settings.region), settings.incident_topic_arn)

    def on_upload(_bucket: str, key: str) -> None:
        # With one worker: a process with threads must not fork.
        marker = ingest(key, library(), analyze=analyze, workers=1).marker
        news().tell(marker.instance_id)

    return on_upload
