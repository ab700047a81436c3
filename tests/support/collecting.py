"""A desk over the adapters that the environment names; and, as a program, a caller that is killed on its way.

`python -m tests.support.collecting MOMENT WHAT NAME`: MOMENT is when it dies (`reserved`, `started`, `answered`, or a
number of starts after which it dies), WHAT is `node` or `batch`, NAME the instance or the cluster.
"""

import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from affidavit.bootstrap import build_app
from affidavit.collection.batch import batch_collect
from affidavit.collection.collect import collect
from affidavit.collection.requests import BatchCollectRequest, CollectRequest, Strategy
from affidavit.collection.tool_dependencies import Desk
from affidavit.nodes.ingest.delivered_bundle_status import AwaitedBundles
from affidavit.ports.node_collector import Execution, NodeCollector
from affidavit.settings import Settings

TOKEN = "same"
# Real time passes in these tests, so a dead caller's lease is short.
LEASE = timedelta(seconds=2)


def a_desk(*clusters: str, environment: Mapping[str, str] | None = None) -> Desk:
    app = build_app(Settings.from_environment(environment))
    return Desk(
        state=app.state,
        clock=app.clock,
        collector=app.collector,
        directory=app.directory,
        index=AwaitedBundles(objects=app.objects, state=app.state),
        region=app.settings.region,
        is_enabled=app.settings.enable_collection,
        clusters=frozenset(clusters),
        lease=LEASE,
    )


class DyingCollector:
    """SIGKILL: no handler runs, no lock is given back, no answer is sent."""

    def __init__(self, inner: NodeCollector, moment: str) -> None:
        self._inner, self._moment, self._starts = inner, moment, 0

    def start(self, instance_id: str, *, region: str, client_token: str) -> str:
        self._starts += 1
        if self._moment in ("reserved", str(self._starts)):
            die()
        execution_id = self._inner.start(instance_id, region=region, client_token=client_token)
        if self._moment == "started":
            die()
        return execution_id

    def find(self, execution_id: str, *, region: str) -> Execution | None:
        return self._inner.find(execution_id, region=region)

    def stop(self, execution_id: str, *, region: str) -> None:
        self._inner.stop(execution_id, region=region)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(moment: str, what: str, name: str, cluster: str) -> None:
    desk = a_desk(cluster)
    assert desk.collector is not None
    desk = replace(desk, collector=DyingCollector(desk.collector, moment))
    if what == "node":
        collect(CollectRequest(instance_id=name, idempotency_token=TOKEN), desk)
    else:
        batch_collect(BatchCollectRequest(cluster_name=name, strategy=Strategy.ALL, idempotency_token=TOKEN), desk)
    die()


if __name__ == "__main__":
    main(*sys.argv[1:])
