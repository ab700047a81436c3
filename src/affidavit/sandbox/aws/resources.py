"""The bucket, tables and topic that a deployment would have, made in the sandbox."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import boto3
import botocore.session
from botocore.config import Config

from affidavit.sandbox.access.keys import SandboxKeys

BUCKET = "affidavit-logs"
TOPIC = "affidavit-alerts"
STATE = "affidavit-state"
INCIDENT_STATE = "incident-state"
INCIDENT_CONTEXT = "incident-context"


@dataclass(frozen=True, kw_only=True, slots=True)
class Account:
    """A way into the emulated account that needs no environment variable."""

    url: str
    region: str
    keys: SandboxKeys

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> Self:
        """The account of a running sandbox, by the variables it prints."""
        return cls(
            url=environment["AWS_ENDPOINT_URL"],
            region=environment["AWS_REGION"],
            keys=SandboxKeys.of_environment(environment),
        )

    def client(self, service: str) -> Any:
        with _making:
            return _session().client(
                service,
                self.region,
                endpoint_url=self.url,
                aws_access_key_id=self.keys.access_key,
                aws_secret_access_key=self.keys.secret_key,
                config=Config(retries={"total_max_attempts": 2}, connect_timeout=5, read_timeout=30),
            )


# Making a client is not thread-safe, using one is.
_making = threading.Lock()


@cache
def _session() -> boto3.Session:
    """Knows no profile and no file of the user's: with AWS_PROFILE set, boto3 would ask for that account."""
    alone = {
        "profile": (None, None, None, None),
        "config_file": (None, None, os.devnull, None),
        "credentials_file": (None, None, os.devnull, None),
    }
    return boto3.Session(botocore_session=botocore.session.Session(session_vars=alone))


def make_resources(account: Account) -> str:
    """The topic's ARN."""
    make_bucket(account, BUCKET)
    for name in (STATE, INCIDENT_STATE, INCIDENT_CONTEXT):
        make_table(account, name)
    return account.client("sns").create_topic(Name=TOPIC)["TopicArn"]


def make_bucket(account: Account, name: str) -> None:
    place = {"LocationConstraint": account.region}
    account.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration=place)


def make_table(account: Account, name: str) -> None:
    dynamodb = account.client("dynamodb")
    kinds = {"pk": "S", "sk": "S", "due": "S", "due_at": "N"}
    dynamodb.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": kind} for key, kind in kinds.items()],
        KeySchema=_keys("pk", "sk"),
        GlobalSecondaryIndexes=[
            {"IndexName": "due", "KeySchema": _keys("due", "due_at"), "Projection": {"ProjectionType": "ALL"}}
        ],
    )
    expiry = {"Enabled": True, "AttributeName": "ttl"}
    dynamodb.update_time_to_live(TableName=name, TimeToLiveSpecification=expiry)


def _keys(partition: str, order: str) -> list[dict[str, str]]:
    return [{"AttributeName": partition, "KeyType": "HASH"}, {"AttributeName": order, "KeyType": "RANGE"}]
