"""Two hundred bundles at once, some announced twice, one of them poison: none is lost, none is counted twice."""

import io
import json
import tarfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.infra.deployed import Deployed, deployed, eventually

BUNDLES = 200
ANNOUNCED_TWICE = 40
LINES = (
    b"Jan 15 10:20:30 ip-10-0-0-1 kernel: Out of memory: Killed process 4711 (java) total-vm:4096kB, anon-rss:2048kB\n"
)


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory, assembly: Path, packages: Path) -> Iterator[Deployed]:
    with deployed(tmp_path_factory.mktemp("storm"), assembly, packages) as running:
        yield running


def instance(number: int) -> str:
    return f"i-0570a{number:012x}"


def key_of(number: int) -> str:
    return f"eks_{instance(number)}/{instance(number)}_eks-log-collector.tar.gz"


def archive(number: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, content in (
            ("kernel/dmesg.human.current", LINES),
            ("system/instance-id.txt", instance(number).encode()),
        ):
            info = tarfile.TarInfo(f"eks_{instance(number)}_2026-01-15_1030-UTC_0.7.9/{name}")
            info.size = len(content)
            packed.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.mark.long
def test_every_bundle_of_a_storm_is_indexed_once_and_the_poison_is_kept_aside(aws: Deployed) -> None:
    s3, sqs = aws.client("s3"), aws.client("sqs")
    with ThreadPoolExecutor(8) as uploads:
        list(uploads.map(lambda n: s3.put_object(Bucket=aws.bucket, Key=key_of(n), Body=archive(n)), range(BUNDLES)))
    s3.put_object(Bucket=aws.bucket, Key=key_of(BUNDLES), Body=archive(BUNDLES)[:60])
    for number in range(ANNOUNCED_TWICE):
        event = {"Records": [{"s3": {"bucket": {"name": aws.bucket}, "object": {"key": key_of(number)}}}]}
        sqs.send_message(QueueUrl=aws.queue("affidavit-uploads"), MessageBody=json.dumps(event))

    def indexed() -> list[str]:
        return [key for key in aws.keys("eks_") if "/metadata/indexes/" in key]

    def is_over() -> bool:
        return len(indexed()) >= BUNDLES and _waiting(aws) == 0

    eventually(is_over, seconds=400)
    found = indexed()
    assert {key.split("/")[0] for key in found} == {f"eks_{instance(number)}" for number in range(BUNDLES)}
    assert len(found) == BUNDLES
    assert len(aws.keys("fleet/nodes/")) == BUNDLES
    dead = sqs.receive_message(
        QueueUrl=aws.queue("affidavit-uploads-dead"), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )["Messages"]
    assert [each["MessageAttributes"]["source"]["StringValue"] for each in dead] == [key_of(BUNDLES)]
    assert dead[0]["MessageAttributes"]["reason"]["StringValue"]


def _waiting(aws: Deployed) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    found = aws.client("sqs").get_queue_attributes(QueueUrl=aws.queue("affidavit-uploads"), AttributeNames=names)
    return sum(int(value) for value in found["Attributes"].values())
