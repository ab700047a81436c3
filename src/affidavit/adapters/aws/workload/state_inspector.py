"""Reads digests of environment variables, versions of policies and of functions from AWS. Read calls only."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.workload.cloudtrail import event_named
from affidavit.adapters.aws.workload.inspector import AwsWorkloadInspector, document_of, plain, reading, without_values
from affidavit.ports.json import Item
from affidavit.ports.workload_inspector import PolicyVersion


class AwsStateInspector(AwsWorkloadInspector):
    """A `StateInspector`."""

    def __init__(self, clients: AwsClients) -> None:
        super().__init__(clients)
        self._clients = clients

    def environment_digests(self, name: str, *, key: bytes) -> Mapping[str, str]:
        with reading(f"function {name}"):
            raw = self._clients.client("lambda").get_function_configuration(FunctionName=name)
        variables = raw.get("Environment", {}).get("Variables", {})
        return {variable: _digest(f"{variable}={value}", key) for variable, value in variables.items()}

    def policy_versions(self, arn: str) -> Sequence[PolicyVersion]:
        with reading(f"versions of policy {arn}"):
            found = self._all("iam", "list_policy_versions", "Versions", PolicyArn=arn)
        return [
            PolicyVersion(
                version_id=one["VersionId"],
                is_default=one["IsDefaultVersion"],
                created_at=one["CreateDate"].isoformat(),
            )
            for one in found
        ]

    def policy_version(self, arn: str, version_id: str) -> Item:
        with reading(f"policy {arn} {version_id}"):
            answer = self._clients.client("iam").get_policy_version(PolicyArn=arn, VersionId=version_id)
        return document_of(answer["PolicyVersion"]["Document"])

    def trail_event(self, event_id: str) -> Item | None:
        return event_named(self._clients, event_id)

    def function_versions(self, name: str) -> Sequence[Item]:
        with reading(f"versions of {name}"):
            found = self._all("lambda", "list_versions_by_function", "Versions", FunctionName=name)
        return [plain(one | without_values(one.get("Environment"))) for one in found if one["Version"] != "$LATEST"]


def _digest(text: str, key: bytes) -> str:
    return "hmac-sha256:" + hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
