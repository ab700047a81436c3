"""Which adapter stands behind each port: the one place that knows. Building an app touches no network."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from affidavit.ports import Clock, NodeCollector, NodeDirectory, Notifier, ObjectStore, SystemClock, Table
from affidavit.settings import Settings

OBJECTS = "objects"
STATE = "state.sqlite"


@dataclass(frozen=True, kw_only=True)
class App:
    """What entry points hand to the domain. Without AWS there is nobody to collect from and nobody to tell."""

    settings: Settings
    clock: Clock
    objects: ObjectStore
    state: Table
    incident_state: Table
    incident_context: Table
    collector: NodeCollector | None = None
    directory: NodeDirectory | None = None
    notifier: Notifier | None = None


def build_app(settings: Settings) -> App:
    return _local_app(settings) if settings.is_local else _aws_app(settings)


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
    )


def _aws_app(settings: Settings) -> App:
    # Here, not above: a laptop without AWS needs no boto3, and loading it takes longer than `--help` may.
    from affidavit.adapters.aws.clients import AwsClients
    from affidavit.adapters.aws.collector import SsmNodeCollector
    from affidavit.adapters.aws.fleet import Ec2NodeDirectory
    from affidavit.adapters.aws.notifier import SnsNotifier
    from affidavit.adapters.aws.objects import S3ObjectStore
    from affidavit.adapters.aws.table import DynamoTable

    clock, clients = SystemClock(), AwsClients(settings.region)
    return App(
        settings=settings,
        clock=clock,
        objects=S3ObjectStore(clients, settings.logs_bucket, kms_key_id=settings.kms_key_id, cache_dir=_cache()),
        state=DynamoTable(clients, settings.state_table, clock),
        incident_state=DynamoTable(clients, settings.incident_state_table, clock),
        incident_context=DynamoTable(clients, settings.incident_context_table, clock),
        collector=SsmNodeCollector(clients, settings.logs_bucket),
        directory=Ec2NodeDirectory(clients),
        notifier=SnsNotifier(clients, settings.alert_topic_arn) if settings.alert_topic_arn else None,
    )


def _cache() -> Path:
    """Downloads are copies: the system's temporary folder is the one place that is writable in Lambda, too."""
    return Path(tempfile.gettempdir()) / f"affidavit-downloads-{os.getuid()}"
