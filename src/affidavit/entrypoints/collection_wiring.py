"""Builds from settings what collects a node's logs: the collection service and the ways it tries in turn."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from affidavit.bootstrap import App
from affidavit.collection.tool_dependencies import Desk
from affidavit.incidents.incident import Incident
from affidavit.ports.cluster.api_connection import ClusterPlace

if TYPE_CHECKING:
    from affidavit.node_evidence.climb_records import Climbs
    from affidavit.node_evidence.rungs import Rung
    from affidavit.node_evidence.stored_or_collected import CollectedNodeEvidence


def build_desk(app: App) -> Desk:
    from affidavit.nodes.ingest.delivered_bundle_status import AwaitedBundles

    stores = app.collection_stores
    return Desk(
        state=stores.state,
        clock=app.clock,
        collector=app.collector,
        directory=app.directory,
        index=AwaitedBundles(objects=stores.objects, state=stores.state),
        region=app.settings.region,
        is_enabled=app.settings.enable_collection,
        clusters=app.settings.clusters,
    )


def collected_evidence(app: App) -> "CollectedNodeEvidence":
    from affidavit.node_evidence.climb_records import Climbs
    from affidavit.node_evidence.ladder import Ladder
    from affidavit.node_evidence.ssm_rung import SsmRung
    from affidavit.node_evidence.stored_or_collected import CollectedNodeEvidence

    ssm, climbs = SsmRung(desk=build_desk(app)), Climbs(table=app.collection_stores.state, clock=app.clock)
    ladder = Ladder(
        rungs=[ssm, *_later_rungs(app, climbs)], climbs=climbs, clock=app.clock, clusters=app.settings.clusters
    )
    return CollectedNodeEvidence(objects=app.objects, state=app.state, ssm=ssm, ladder=ladder)


def _later_rungs(app: App, climbs: "Climbs") -> "Iterator[Rung]":
    """Those whose ports this deployment has."""
    from affidavit.node_evidence.archive_state import Archives
    from affidavit.node_evidence.climb_records import RungName
    from affidavit.node_evidence.console_and_log_rung import TextRung
    from affidavit.node_evidence.monitoring_agent_rung import DiagnosticRung

    stores = app.collection_stores
    archives = Archives(objects=stores.objects, state=stores.state)
    if app.captures is not None and app.control_plane is not None and app.upload_links is not None:
        yield DiagnosticRung(
            captures=app.captures, control_plane=app.control_plane, links=app.upload_links, archives=archives
        )
    for name, texts in ((RungName.CONSOLE_OUTPUT, app.console), (RungName.HOST_LOGS, app.host_logs)):
        if texts is not None:
            yield TextRung(
                name=name,
                texts=texts,
                archives=archives,
                climbs=climbs,
                clock=app.clock,
                node_name=lambda incident: node_name(app, incident),
            )


def node_name(app: App, incident: Incident) -> str:
    """What Kubernetes calls the node, as the alert, the cluster or EC2 says; empty when nobody knows."""
    if incident.node_name:
        return incident.node_name
    place = ClusterPlace(cluster=incident.cluster, region=incident.region)
    known = app.control_plane.node_name(incident.subject.id, place=place) if app.control_plane is not None else None
    if known is None and app.directory is not None:
        known = app.directory.name_of(incident.subject.id, region=incident.region)
    return known or ""
