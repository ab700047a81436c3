"""Starts and stops the whole sandbox. A program given its `environment` talks to it as to AWS."""

from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from affidavit.sandbox.about_endpoint import identity_of
from affidavit.sandbox.account.nodes import REGION, Fleet
from affidavit.sandbox.aws import resources
from affidavit.sandbox.aws.automation import Automation, OnUpload
from affidavit.sandbox.aws.automation_executions import Executions
from affidavit.sandbox.aws.emulator import Emulator
from affidavit.sandbox.aws.lifecycle_actions import LifecycleActions
from affidavit.sandbox.aws.request_routing import Gateway
from affidavit.sandbox.chat_models.bedrock import BedrockSimulator
from affidavit.sandbox.kubernetes.api_server import ClusterApi
from affidavit.sandbox.kubernetes.node_diagnostics import Diagnostics
from affidavit.sandbox.processes.start_stop_context import StartsAndStops


@dataclass(slots=True)
class Sandbox(StartsAndStops):
    """Everything listens on 127.0.0.1 and answers only who signs with the keys of this start.

    With a state file, executions survive a restart; buckets and tables do not.
    """

    folder: Path
    region: str = REGION
    fleet: Fleet = field(default_factory=Fleet)
    on_upload: OnUpload | None = None
    bedrock: BedrockSimulator | None = None
    executions_file: Path | None = None
    automation: Automation = field(init=False)
    emulator: Emulator = field(init=False)
    topic_arn: str = field(init=False, default="")
    lifecycle: LifecycleActions = field(init=False, default_factory=LifecycleActions)
    cluster_api: ClusterApi = field(init=False)
    _gateway: Gateway = field(init=False)
    _cluster_gateway: Gateway = field(init=False)

    def __post_init__(self) -> None:
        self.emulator = Emulator(self.folder, region=self.region)

    def start(self) -> Self:
        self.emulator.start()
        try:
            self._start_simulators()
            self.topic_arn = resources.make_resources(self.account)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """The gateway last: who finds it gone may be sure that all is."""
        has_simulators = hasattr(self, "_gateway")
        if has_simulators:
            self.automation.stop()
        if self.bedrock is not None:
            self.bedrock.stop()
        self.emulator.stop()
        if has_simulators:
            self._cluster_gateway.stop()
            self._gateway.stop()

    @property
    def account(self) -> resources.Account:
        return resources.Account(url=self.emulator.url, region=self.region, keys=self.emulator.keys)

    @property
    def environment(self) -> dict[str, str]:
        """Endpoints, the keys of this start, and our settings. No variable of a real account is left in force."""
        found = {
            "AWS_ENDPOINT_URL": self.emulator.url,
            "AWS_ENDPOINT_URL_SSM": self._gateway.url,
            "AWS_ENDPOINT_URL_EC2": self._gateway.url,
            "AWS_ENDPOINT_URL_EKS": self._gateway.url,
            "AWS_ENDPOINT_URL_AUTO_SCALING": self._gateway.url,
            **self.emulator.keys.environment,
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "LOGS_BUCKET": resources.BUCKET,
            "STATE_TABLE": resources.STATE,
            "INCIDENT_STATE_TABLE": resources.INCIDENT_STATE,
            "INCIDENT_CONTEXT_TABLE": resources.INCIDENT_CONTEXT,
            "ALERT_TOPIC_ARN": self.topic_arn,
            "ENABLE_COLLECTION": "true",
            # An extra of its own: without its client everything but the cluster's own word is there.
            "KUBERNETES_API": "eks" if find_spec("kubernetes") is not None else "off",
            "ALLOWED_CLUSTERS": ",".join(sorted(self.fleet.clusters)),
        }
        return found | ({"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": self.bedrock.url} if self.bedrock is not None else {})

    def client(self, service: str) -> Any:
        """A boto3 client of the sandbox's account, whatever the environment says."""
        is_ours = service in ("ssm", "ec2", "eks", "autoscaling")
        url = self._gateway.url if is_ours else self.emulator.url
        return replace(self.account, url=url).client(service)

    def _start_simulators(self) -> None:
        self.automation = Automation(
            fleet=self.fleet,
            upload=self._upload,
            on_upload=self.on_upload,
            executions=Executions(self.executions_file),
        )
        self._gateway = Gateway(
            self.emulator.url,
            [identity_of(self.automation), self.automation.answer, self.fleet.answer, self.lifecycle.answer],
            keys=self.emulator.keys,
        )
        self._start_cluster()
        self._gateway.start()
        if self.bedrock is not None:
            self.bedrock.keys = self.emulator.keys
            self.bedrock.start()
        self.automation.resume()

    def _start_cluster(self) -> None:
        diagnostics = Diagnostics(fleet=self.fleet, on_put=self._was_put)
        self.cluster_api = ClusterApi(fleet=self.fleet, keys=self.emulator.keys, diagnostics=diagnostics)
        # Its callers show tokens, which it checks itself.
        self._cluster_gateway = Gateway(self.emulator.url, [self.cluster_api.answer], keys=None)
        self._cluster_gateway.start()
        self.fleet.api_url = self._cluster_gateway.url

    def _was_put(self, address: str) -> None:
        """The node monitoring agent uploaded: what the bucket's event would start."""
        if self.on_upload is not None:
            _, _, key = urlsplit(address).path.partition(f"/{resources.BUCKET}/")
            self.on_upload(resources.BUCKET, unquote(key))

    def _upload(self, bucket: str, key: str, data: bytes) -> None:
        self.account.client("s3").put_object(Bucket=bucket, Key=key, Body=data)
