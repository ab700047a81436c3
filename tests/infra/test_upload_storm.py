"""Many bundles at once, some announced twice, one of them poison: none is lost, none is counted twice."""

import io
import json
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.infra.deployed import Deployed, deployed, eventually
from tests.support.storms import storm

pytestmark = pytest.mark.slow

BUNDLES = storm(15, full=200)
ANNOUNCED_TWICE = BUNDLES // 5
CLUSTER = "storm"
NEEDED = ("AffidavitStorage", "AffidavitState", "AffidavitNodeLogs")
LINES = (
    b"Jan 15 10:20:30 ip-10-0-0-1 kernel: Out of memory: Killed process 4711 (java) total-vm:4096kB, anon-rss:2048kB\n"
)


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory, assembly: Path, packages: Path) -> Iterator[Deployed]:
    with deployed(tmp_path_factory.mktemp("storm"), assembly, packages, only=NEEDED) as running:
        yield running


def nodes_of(aws: Deployed) -> list[str]:
    """Nodes of a cluster, as EC2 knows them, and one more for the poison."""
    tag = {"Key": "eks:cluster-name", "Value": CLUSTER}
    made = aws.client("ec2").run_instances(
        ImageId="ami-12345678",
        InstanceType="m5.large",
        MinCount=BUNDLES + 1,
        MaxCount=BUNDLES + 1,
        TagSpecifications=[{"ResourceType": "instance", "Tags": [tag]}],
    )
    return [each["InstanceId"] for each in made["Instances"]]


def key_of(node: str) -> str:
    return f"eks_{node}/{node}_eks-log-collector.tar.gz"


def archive(node: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in (("kernel/dmesg.human.current", LINES), ("system/instance-id.txt", node.encode())):
            info = tarfile.TarInfo(f"eks_{node}_2026-01-15_1030-UTC_0.7.9/{name}")
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def test_every_bundle_of_a_storm_is_indexed_once_and_the_poison_is_kept_aside(aws: Deployed) -> None:
    s3, sqs = aws.client("s3"), aws.client("sqs")
    *nodes, poisoned = nodes_of(aws)
    with ThreadPoolExecutor(4) as uploads:
        list(uploads.map(lambda node: s3.put_object(Bucket=aws.bucket, Key=key_of(node), Body=archive(node)), nodes))
    s3.put_object(Bucket=aws.bucket, Key=key_of(poisoned), Body=archive(poisoned)[:60])
    for node in nodes[:ANNOUNCED_TWICE]:
        event = {"Records": [{"s3": {"bucket": {"name": aws.bucket}, "object": {"key": key_of(node)}}}]}
        sqs.send_message(QueueUrl=aws.queue("affidavit-uploads"), MessageBody=json.dumps(event))

    # Asked seldom: listing what is there costs the emulator as much as a bundle does.
    eventually(lambda: _waiting(aws) == 0, seconds=400, every=1)
    found = [key for key in aws.keys("eks_") if "/metadata/indexes/" in key]
    assert {key.split("/")[0] for key in found} == {f"eks_{node}" for node in nodes}
    assert len(found) == BUNDLES
    published = aws.keys("fleet/nodes/")
    assert len(published) == BUNDLES
    assert {key.split("/")[2] for key in published} == {f"cluster={CLUSTER}"}
    dead = sqs.receive_message(
        QueueUrl=aws.queue("affidavit-uploads-dead"), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )["Messages"]
    assert [each["MessageAttributes"]["source"]["StringValue"] for each in dead] == [key_of(poisoned)]
    assert dead[0]["MessageAttributes"]["reason"]["StringValue"]


def _waiting(aws: Deployed) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = aws.client("sqs").get_queue_attributes(QueueUrl=aws.queue("affidavit-uploads"), AttributeNames=names)
    return sum(int(value) for value in found["Attributes"].values())
