"""What may be collected hangs on a node's cluster, so its tags are read with suspicion."""

from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.error_translation import translate
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.errors import Conflict

NODE = "i-0123456789abcdef0"
REGION = "ca-central-1"


class OneInstance:
    """EC2 and EKS with one instance, which fits every filter."""

    region = REGION

    def __init__(self, tags: dict[str, str]) -> None:
        self._tags = [{"Key": key, "Value": value} for key, value in tags.items()]

    def client(self, *_: Any, **__: Any) -> Any:
        return self

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> list[Any]:
        instance = {"InstanceId": NODE, "State": {"Name": "running"}, "Tags": self._tags}
        return [{"Reservations": [{"Instances": [instance]}]}]

    def describe_cluster(self, **_: Any) -> dict[str, Any]:
        return {}

    def describe_instance_status(self, **_: Any) -> dict[str, Any]:
        return {"InstanceStatuses": []}


@pytest.mark.parametrize(
    ("tags", "cluster"),
    [
        ({"eks:cluster-name": "a"}, "a"),
        ({"kubernetes.io/cluster/a": "owned"}, "a"),
        ({"kubernetes.io/cluster/a": "owned", "eks:cluster-name": "a"}, "a"),
        ({"eks:cluster-name": "a", "aws:eks:cluster-name": "b"}, "b"),
        ({"kubernetes.io/cluster/a": "owned", "aws:eks:cluster-name": "b"}, "b"),
        ({"kubernetes.io/cluster/a": "owned", "kubernetes.io/cluster/b": "owned"}, None),
        ({"kubernetes.io/cluster/a": "owned", "eks:cluster-name": "b"}, None),
        ({"Name": "a"}, None),
    ],
)
def test_a_node_is_of_the_one_cluster_its_tags_agree_on(tags: dict[str, str], cluster: str | None) -> None:
    directory = Ec2NodeDirectory(cast(AwsClients, OneInstance(tags)))
    assert directory.cluster_of(NODE, region=REGION) == cluster
    assert [node.cluster for node in directory.nodes_of("a", region=REGION)] == [cluster or ""]


def test_stopping_what_has_ended_is_a_conflict() -> None:
    answer = {"Error": {"Code": "InvalidAutomationStatusUpdateException", "Message": "no"}}
    error = ClientError(cast(Any, answer), "StopAutomationExecution")
    assert isinstance(translate(error, "execution e"), Conflict)
