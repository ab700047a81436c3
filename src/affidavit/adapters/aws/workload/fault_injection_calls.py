"""The few calls that break the demo workload and put it back. Nothing else in Affidavit changes a workload."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import code_of, translated
from affidavit.adapters.aws.workload.inspector import AwsWorkloadInspector
from affidavit.changes.aws_call_builders import concurrency_call
from affidavit.ports.json import Item

# Each means that the account is already as asked.
ALREADY = {
    "NoSuchEntity",
    "NoSuchEntityException",
    "InvalidPermission.NotFound",
    "InvalidPermission.Duplicate",
    "InvalidNetworkAclEntry.NotFound",
    "NetworkAclEntryAlreadyExists",
}


class AwsFaultTarget(AwsWorkloadInspector):
    """A `FaultTarget`."""

    def __init__(self, clients: AwsClients) -> None:
        super().__init__(clients)
        self._clients = clients

    def account(self) -> str:
        with translated("who we are"):
            return str(self._clients.client("sts").get_caller_identity()["Account"])

    def tags(self, kind: str, name: str) -> Mapping[str, str]:
        with translated(f"tags of {kind} {name}"):
            match kind:
                case "function":
                    arn = self.function(name)["FunctionArn"]
                    return self._clients.client("lambda").list_tags(Resource=arn).get("Tags", {})
                case "role":
                    listed = self._clients.client("iam").list_role_tags(RoleName=name)["Tags"]
                case _:
                    filters = [{"Name": "resource-id", "Values": [name]}]
                    listed = self._clients.client("ec2").describe_tags(Filters=filters)["Tags"]
        return {entry["Key"]: entry["Value"] for entry in listed}

    def put_inline_policy(self, role: str, name: str, document: Item) -> None:
        with _changing(f"policy {name} of role {role}"):
            text = json.dumps(document)
            self._clients.client("iam").put_role_policy(RoleName=role, PolicyName=name, PolicyDocument=text)

    def delete_inline_policy(self, role: str, name: str) -> None:
        with _changing_or_done(f"policy {name} of role {role}"):
            self._clients.client("iam").delete_role_policy(RoleName=role, PolicyName=name)

    def attach_policy(self, role: str, arn: str) -> None:
        with _changing(f"policy {arn} of role {role}"):
            self._clients.client("iam").attach_role_policy(RoleName=role, PolicyArn=arn)

    def detach_policy(self, role: str, arn: str) -> None:
        with _changing_or_done(f"policy {arn} of role {role}"):
            self._clients.client("iam").detach_role_policy(RoleName=role, PolicyArn=arn)

    def set_reserved_concurrency(self, name: str, value: int | None) -> None:
        call = concurrency_call(name, value)
        with _changing(f"concurrency of {name}"):
            getattr(self._clients.client(call.service), call.operation)(**call.parameters)

    def allow_egress(self, group: str, permissions: Sequence[Item]) -> None:
        with _changing_or_done(f"egress of {group}"):
            self._clients.client("ec2").authorize_security_group_egress(GroupId=group, IpPermissions=list(permissions))

    def revoke_egress(self, group: str, permissions: Sequence[Item]) -> None:
        with _changing_or_done(f"egress of {group}"):
            self._clients.client("ec2").revoke_security_group_egress(GroupId=group, IpPermissions=list(permissions))

    def put_acl_entry(self, acl: str, entry: Item) -> None:
        with _changing_or_done(f"network ACL {acl}"):
            self._clients.client("ec2").create_network_acl_entry(NetworkAclId=acl, **entry)

    def delete_acl_entry(self, acl: str, *, number: int, is_egress: bool) -> None:
        with _changing_or_done(f"network ACL {acl}"):
            self._clients.client("ec2").delete_network_acl_entry(NetworkAclId=acl, RuleNumber=number, Egress=is_egress)


@contextmanager
def _changing(thing: str) -> Generator[None]:
    with translated(thing):
        yield


@contextmanager
def _changing_or_done(thing: str) -> Generator[None]:
    """A repeated write finds its work done, which is no failure."""
    with translated(thing):
        try:
            yield
        except ClientError as error:
            if code_of(error) not in ALREADY:
                raise
