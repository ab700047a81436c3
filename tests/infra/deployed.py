"""The templates, deployed into an emulator that checks IAM, with the real packages.

Three things differ from AWS, and only these: the emulator speaks plain HTTP, so statements that refuse it are taken
out; names such as *.lambda-url.*.on.aws lead nowhere, so a relay hands requests to the MCP server's function; and
functions share the cores of this machine, so fewer of them read bundles at once.
"""

import base64
import json
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.deploy.deployment import ORDER, Deployment, Wanted
from affidavit.adapters.aws.deploy.stacks import ChangeSet
from affidavit.sandbox.aws.emulator import Emulator
from affidavit.sandbox.aws.request_routing import Gateway, GatewayAnswer, GatewayRequest
from affidavit.sandbox.aws.resources import Account
from tests.infra.templates import chosen

REGION = "ca-central-1"
KEY_PARAMETER = "/incident-response/mcp-api-key"
AT_ONCE = 3
NODE_ROLE = "arn:aws:iam::000000000000:role/a-node"
_NODES = {"NodeRoleArns": f"{NODE_ROLE},{NODE_ROLE}-of-another-group"}
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Deployed:
    account: Account
    outputs: dict[str, str]
    deployment: Deployment
    said: list[str]
    first_plan: list[ChangeSet]
    left_by_plan: list[str]

    @property
    def bucket(self) -> str:
        return f"affidavit-logs-000000000000-{REGION}"

    def client(self, service: str) -> Any:
        return self.account.client(service)

    def queue(self, name: str) -> str:
        return self.client("sqs").get_queue_url(QueueName=name)["QueueUrl"]

    def keys(self, prefix: str) -> list[str]:
        pages = self.client("s3").get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", ())]

    def log_of(self, function: str) -> str:
        events = self.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{function}")["events"]
        return "\n".join(event["message"] for event in events)


def environment_of(account: Account) -> dict[str, str]:
    return {
        "AWS_ENDPOINT_URL": account.url,
        **account.keys.environment,
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


@contextmanager
def deployed(folder: Path, templates: Path, packages: Path, *, only: Collection[str] = ()) -> Iterator[Deployed]:
    """Every stack, or `only` these. The environment names the emulator as long as it runs."""
    emulator = Emulator(folder / "emulator", region=REGION)
    emulator.start()
    account = Account(url=emulator.url, region=REGION, keys=emulator.keys)
    relay = Gateway(emulator.url, [_function_url(account)], keys=None)
    relay.start()
    try:
        with _pointed(environment_of(account)):
            said: list[str] = []
            wanted = Wanted(
                templates=_over_http(templates, folder / "templates", only),
                packages=packages,
                parameters=_NODES
                if only
                else {**_NODES, "ChatProvider": "offline", "EnableHooks": "true", "McpServerUrl": f"{relay.url}/mcp"},
                extras=frozenset() if only else frozenset({"demo"}),
            )
            deployment = Deployment(AwsClients(REGION), wanted, said.append)
            first_plan = deployment.plan()
            left = [name for name in ORDER if deployment.stacks.status(name) is not None]
            outputs = deployment.apply(key_parameter=KEY_PARAMETER)
            yield Deployed(
                account=account,
                outputs=outputs,
                deployment=deployment,
                said=said,
                first_plan=first_plan,
                left_by_plan=left,
            )
    finally:
        relay.stop()
        emulator.stop()


@contextmanager
def _pointed(environment: dict[str, str]) -> Iterator[None]:
    import pytest

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AWS_PROFILE", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        yield


def _over_http(templates: Path, folder: Path, only: Collection[str]) -> Path:
    folder.mkdir()
    for file in templates.glob("*.template.json"):
        if only and file.name.partition(".")[0] not in only:
            continue
        template = json.loads(file.read_text())
        kept = {name: _without_refusals(each) for name, each in template["Resources"].items()}
        for each in template["Resources"].values():
            if "ScalingConfig" in each.get("Properties", {}):
                each["Properties"]["ScalingConfig"]["MaximumConcurrency"] = AT_ONCE
        template["Resources"] = {name: each for name, each in kept.items() if each is not None}
        (folder / file.name).write_text(json.dumps(template))
    return folder


def _without_refusals(resource: dict[str, Any]) -> dict[str, Any] | None:
    document = resource.get("Properties", {}).get("PolicyDocument")
    if document is None:
        return resource
    kept = [each for each in document["Statement"] if not _refuses_http(each)]
    document["Statement"] = kept
    return resource if kept else None


def _refuses_http(statement: dict[str, Any]) -> bool:
    statement = chosen(statement)
    conditions = json.dumps(statement.get("Condition", {}))
    return statement["Effect"] == "Deny" and ("aws:SecureTransport" in conditions or "s3:TlsVersion" in conditions)


def _function_url(account: Account) -> Callable[[GatewayRequest], GatewayAnswer | None]:
    """What Lambda makes of a request to a function URL."""

    def answer(request: GatewayRequest) -> GatewayAnswer | None:
        if not request.path.startswith(("/mcp", "/health")):
            return None
        event = {
            "version": "2.0",
            "rawPath": request.path,
            "rawQueryString": "",
            "headers": dict(request.headers),
            "requestContext": {
                "domainName": request.headers["host"],
                "http": {"method": request.method, "path": request.path, "sourceIp": "127.0.0.1"},
            },
            "body": base64.b64encode(request.body).decode(),
            "isBase64Encoded": True,
        }
        answered = account.client("lambda").invoke(FunctionName="affidavit-mcp", Payload=json.dumps(event))
        body = json.loads(answered["Payload"].read())
        if "statusCode" not in body:
            return GatewayAnswer(status=502, body=json.dumps(body).encode())
        return GatewayAnswer(status=body["statusCode"], body=base64.b64decode(body["body"]), headers=body["headers"])

    return answer


def eventually(ask: Callable[[], Found], *, seconds: float = 120, every: float = 0.2) -> Found:
    """The first answer that is true. Its last one, when time is up: the assertion then says what was there."""
    deadline = time.monotonic() + seconds
    while True:
        found = ask()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(every)
