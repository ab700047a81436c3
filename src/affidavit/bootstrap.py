"""Chooses the local or the AWS adapters for the ports that every deployment needs. Building an app touches no network.

Doors that only make sense with AWS (deploy, chaos, fleet, the Lambda toolset, Bedrock) build their own adapters.
"""

import os
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from affidavit.errors import InputRefused
from affidavit.ports.clock import Clock, SystemClock
from affidavit.ports.cluster.api_connection import ClusterAccess
from affidavit.ports.cluster.control_plane import ControlPlane
from affidavit.ports.cluster.log_captures import NodeCaptures
from affidavit.ports.cluster.off_host_logs import HostTexts
from affidavit.ports.lifecycle_hooks import LifecycleHooks
from affidavit.ports.node_collector import NodeCollector
from affidavit.ports.node_directory import NodeDirectory
from affidavit.ports.object_store import ObjectStore, UploadLinks
from affidavit.ports.table import Table
from affidavit.settings import KubernetesApi, Settings

if TYPE_CHECKING:
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.incidents.notices.channel import Channel
    from affidavit.knowledge import Knowledge
    from affidavit.nodes.library.indexed_bundles import Library
    from affidavit.redaction.redact import Redactor

OBJECTS = "objects"
STATE = "state.sqlite"


@dataclass(frozen=True, kw_only=True)
class CollectionStores:
    """Where collections are written down and their archives are put, by the role that collects."""

    objects: ObjectStore
    state: Table


@dataclass(frozen=True, kw_only=True)
class App:
    """What entry points hand to the domain. Without AWS there is nobody to collect from."""

    settings: Settings
    clock: Clock
    objects: ObjectStore
    state: Table
    incident_state: Table
    incident_context: Table
    collector: NodeCollector | None = None
    directory: NodeDirectory | None = None
    channels: "tuple[Channel, ...]" = ()
    hooks: LifecycleHooks | None = None
    upload_links: UploadLinks | None = None
    console: HostTexts | None = None
    host_logs: HostTexts | None = None
    control_plane: ControlPlane | None = None
    captures: NodeCaptures | None = None
    """As `control_plane`, there only where settings say how the API of a cluster is reached."""
    collections: CollectionStores | None = None
    """Where another role collects; None: the stores above serve."""

    @property
    def collection_stores(self) -> CollectionStores:
        return self.collections or CollectionStores(objects=self.objects, state=self.state)


def build_app(settings: Settings) -> App:
    return _local_app(settings) if settings.is_local else _aws_app(settings)


def deployed_settings() -> Settings:
    """The settings of a deployed function: its environment, and the secrets that Parameter Store keeps for it."""
    settings = Settings.from_environment()
    if not settings.secrets_path:
        return settings
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.parameters.stored_secrets import stored_secrets

    return settings.with_secrets(stored_secrets(AwsClients(settings.region), settings.secrets_path))


def build_library(app: App, knowledge: "Knowledge | None" = None, redactor: "Redactor | None" = None) -> "Library":
    """The indexes of this app, to be asked. Knowledge is the built-in one, unless another is given."""
    from affidavit.knowledge import load_knowledge
    from affidavit.nodes.library.indexed_bundles import Library

    return Library(
        objects=app.objects,
        state=app.state,
        clock=app.clock,
        knowledge=knowledge or load_knowledge(),
        directory=app.directory,
        region=app.settings.region,
        redactor=redactor,
    )


def _local_app(settings: Settings) -> App:
    # Each side loads its own adapters alone: an alert in AWS must not wait for SQLite.
    from affidavit.adapters.local.objects import DirectoryObjectStore
    from affidavit.adapters.local.table import SqliteTable

    clock, file = SystemClock(), settings.data_dir / STATE
    return App(
        settings=settings,
        clock=clock,
        objects=DirectoryObjectStore(settings.data_dir / OBJECTS),
        state=SqliteTable(file, settings.state_table, clock),
        incident_state=SqliteTable(file, settings.incident_state_table, clock),
        incident_context=SqliteTable(file, settings.incident_context_table, clock),
        channels=_channels(settings, clock),
    )


def _aws_app(settings: Settings) -> App:
    # Here, not above: a laptop without AWS needs no boto3, and loading it takes longer than `--help` may.
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.collector import SsmNodeCollector
    from affidavit.adapters.aws.host.cloudwatch_logs import CloudWatchHostLogs
    from affidavit.adapters.aws.host.serial_console import Ec2Console
    from affidavit.adapters.aws.lifecycle_hooks import AutoScalingHooks
    from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
    from affidavit.adapters.aws.storage.objects import S3ObjectStore
    from affidavit.adapters.aws.storage.table import DynamoTable

    clock, clients = SystemClock(), AwsClients(settings.region)
    # What acts on nodes may do so by a role of its own; whatever only reads keeps to the one this runs by.
    acting = _acting(settings, clients)

    def objects_by(those: AwsClients) -> S3ObjectStore:
        return S3ObjectStore(those, settings.logs_bucket, kms_key_id=settings.kms_key_id, cache_dir=_cache())

    archives = objects_by(acting)
    collections = CollectionStores(objects=archives, state=DynamoTable(acting, settings.state_table, clock))
    control_plane, captures = _cluster_api(settings, clients, acting)
    return App(
        settings=settings,
        clock=clock,
        objects=objects_by(clients),
        upload_links=archives,
        console=Ec2Console(acting),
        host_logs=CloudWatchHostLogs(acting, [name for name in settings.host_log_groups.split(",") if name]),
        control_plane=control_plane,
        captures=captures,
        collections=collections,
        state=DynamoTable(clients, settings.state_table, clock),
        incident_state=DynamoTable(clients, settings.incident_state_table, clock),
        incident_context=DynamoTable(clients, settings.incident_context_table, clock),
        collector=SsmNodeCollector(acting, settings.logs_bucket, role_arn=settings.collection_role_arn),
        directory=Ec2NodeDirectory(clients),
        hooks=AutoScalingHooks(acting),
        channels=_channels(settings, clock),
    )


def _acting(settings: Settings, clients: "AwsClients") -> "AwsClients":
    if not settings.node_collection_role_arn:
        return clients
    from affidavit.adapters.aws.sessions.role_clients import RoleClients

    return RoleClients(settings.region, settings.node_collection_role_arn)


def _channels(settings: Settings, clock: Clock) -> "tuple[Channel, ...]":
    from affidavit.adapters.channels.channel_registry import channels

    return channels(settings, clock)


def _cluster_api(
    settings: Settings, clients: "AwsClients", acting: "AwsClients"
) -> tuple[ControlPlane | None, NodeCaptures | None]:
    """How the API is read, and how a capture is asked for there."""
    reads, acts = _cluster_access(settings, clients), _cluster_access(settings, acting)
    if reads is None or acts is None:
        return None, None
    if find_spec("kubernetes") is None:
        raise InputRefused(
            f"KUBERNETES_API={settings.kubernetes_api.value} needs the client of Kubernetes, which is not installed",
            hint="pip install 'affidavit[kubernetes]', or set KUBERNETES_API=off",
        )
    from affidavit.adapters.kubernetes.api import ClusterApis
    from affidavit.adapters.kubernetes.diagnostic_captures import NodeDiagnosticCaptures
    from affidavit.adapters.kubernetes.node_health import KubernetesControlPlane

    return KubernetesControlPlane(ClusterApis(reads)), NodeDiagnosticCaptures(ClusterApis(acts))


def _cluster_access(settings: Settings, clients: "AwsClients") -> ClusterAccess | None:
    match settings.kubernetes_api:
        case KubernetesApi.OFF:
            return None
        case KubernetesApi.EKS:
            from affidavit.adapters.aws.host.eks_api_access import EksClusterAccess

            return EksClusterAccess(clients)
        case KubernetesApi.IN_CLUSTER:
            from affidavit.adapters.kubernetes.in_cluster_access import InClusterAccess

            return InClusterAccess(clusters=settings.clusters)
        case _:
            assert_never(settings.kubernetes_api)


def _cache() -> Path:
    """Downloads are copies: the system's temporary folder is the one place that is writable in Lambda, too."""
    return Path(tempfile.gettempdir()) / f"affidavit-downloads-{os.getuid()}"
