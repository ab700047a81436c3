"""Where a node is: our own region first, then all others at once. One that cannot be asked is not "nowhere"."""

import threading
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.node_directory import Ec2NodeDirectory
from affidavit.errors import UpstreamFailed

NODE, HOME = "i-0123456789abcdef0", "ca-central-1"
OTHERS = ("eu-central-1", "eu-west-1", "us-east-1")


@dataclass
class Account:
    """EC2 of every region; the others answer only when all of them have been asked."""

    holding: str = ""
    broken: str = ""
    region: str = HOME
    asked: list[str] = field(default_factory=list)
    together: threading.Barrier = field(default_factory=lambda: threading.Barrier(len(OTHERS), timeout=5))

    def client(self, _service: str, *, region: str, **_: Any) -> Any:
        return _Ec2(account=self, region=region)


@dataclass
class _Ec2:
    account: Account
    region: str

    def describe_regions(self) -> dict[str, Any]:
        return {"Regions": [{"RegionName": name} for name in (HOME, *OTHERS)]}

    def get_paginator(self, _: str) -> Any:
        return self

    def paginate(self, **_: Any) -> list[Any]:
        self.account.asked.append(self.region)
        if self.region != HOME:
            self.account.together.wait()
        if self.region == self.account.broken:
            raise ClientError({"Error": {"Code": "UnauthorizedOperation"}}, "DescribeInstances")
        if self.region != self.account.holding:
            raise ClientError({"Error": {"Code": "InvalidInstanceID.NotFound"}}, "DescribeInstances")
        return [{"Reservations": [{"Instances": [{"InstanceId": NODE}]}]}]


def region_in(account: Account) -> str | None:
    return Ec2NodeDirectory(cast("AwsClients", account)).region_of(NODE)


def test_a_node_of_our_own_region_is_asked_for_once() -> None:
    account = Account(holding=HOME)
    assert region_in(account) == HOME
    assert account.asked == [HOME]


def test_other_regions_are_asked_at_once() -> None:
    account = Account(holding="us-east-1")
    assert region_in(account) == "us-east-1"
    assert sorted(account.asked) == sorted([HOME, *OTHERS])


def test_a_node_that_is_gone_is_nowhere() -> None:
    assert region_in(Account()) is None


@pytest.mark.parametrize("broken", [HOME, "eu-west-1"])
def test_a_region_that_cannot_be_asked_hides_no_node_and_makes_none_vanish(broken: str) -> None:
    assert region_in(Account(holding="us-east-1", broken=broken)) == "us-east-1"
    with pytest.raises(UpstreamFailed):
        region_in(Account(broken=broken))
