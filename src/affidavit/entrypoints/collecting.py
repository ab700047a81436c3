"""Settings → the desk that collections are asked for at."""

from affidavit.bootstrap import App
from affidavit.collection.service import Desk


def build_desk(app: App) -> Desk:
    from affidavit.nodes.ingest.ingest_status import AwaitedBundles

    return Desk(
        state=app.state,
        clock=app.clock,
        collector=app.collector,
        directory=app.directory,
        index=AwaitedBundles(objects=app.objects, state=app.state),
        region=app.settings.region,
        is_enabled=app.settings.enable_collection,
        clusters=app.settings.clusters,
    )
