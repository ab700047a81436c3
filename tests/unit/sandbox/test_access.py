"""Who gets into a running sandbox: programs with the keys of this start, and nobody else."""

import hashlib
import http.client
import io
import json
import socket
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.access.request_head import RequestHead, RequestRefused
from affidavit.sandbox.access.signatures import read_signature, refuse_unsigned
from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.chat_models.bedrock import BedrockSimulator, ScriptedText
from affidavit.sandbox.sandbox import Sandbox

REFUSALS = {"InvalidClientTokenId", "SignatureDoesNotMatch", "403"}
WHOAMI = """
import os, boto3
def handler(event, context):
    return {"arn": boto3.client("sts").get_caller_identity()["Arn"], "key": os.environ["AWS_ACCESS_KEY_ID"]}
"""


def asked(url: str, method: str, target: str, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    place = urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", place.port, timeout=30)
    connection.request(method, target, headers=headers or {})
    answer = connection.getresponse()
    answer.read()
    return answer


def client_with(sandbox: Sandbox, service: str, keys: SandboxKeys, token: str | None = None) -> Any:
    return boto3.client(
        service,
        region_name=sandbox.region,
        endpoint_url=sandbox.environment.get(f"AWS_ENDPOINT_URL_{service.upper()}", sandbox.emulator.url),
        aws_access_key_id=keys.access_key,
        aws_secret_access_key=keys.secret_key,
        aws_session_token=token,
    )


CALLS = [
    ("s3", "list_buckets", {}),
    ("sqs", "list_queues", {}),
    ("dynamodb", "list_tables", {}),
    ("sns", "list_topics", {}),
    ("lambda", "list_functions", {}),
    ("ssm", "get_parameters_by_path", {"Path": "/"}),
    ("eks", "list_clusters", {}),
]


def wrong_keys(keys: SandboxKeys) -> list[SandboxKeys]:
    """What the emulator's documents name, an account's number, another start's keys, and half of ours."""
    return [
        SandboxKeys(access_key="test", secret_key="test"),
        SandboxKeys(access_key="000000000000", secret_key="test"),
        SandboxKeys(access_key="test", secret_key=keys.secret_key),
        SandboxKeys.new(),
        replace(keys, secret_key="test"),
    ]


@pytest.mark.parametrize(("service", "operation", "arguments"), CALLS)
def test_only_the_keys_of_this_start_open(
    sandbox: Sandbox, service: str, operation: str, arguments: dict[str, Any]
) -> None:
    right = client_with(sandbox, service, sandbox.emulator.keys)
    assert getattr(right, operation)(**arguments)["ResponseMetadata"]["HTTPStatusCode"] == 200
    for keys in wrong_keys(sandbox.emulator.keys):
        with pytest.raises(ClientError) as refused:
            getattr(client_with(sandbox, service, keys), operation)(**arguments)
        assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403
        assert refused.value.response["Error"]["Code"] in REFUSALS


def test_two_starts_have_different_keys() -> None:
    assert SandboxKeys.new() != SandboxKeys.new()
    assert SandboxKeys.new().secret_key not in repr(SandboxKeys.new())


@pytest.mark.parametrize(
    "target",
    ["/", "/_ministack/health", "/_ministack/reset", "/_affidavit", "/latest/meta-data/iam/security-credentials/"],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("door", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM"])
def test_an_unsigned_request_is_refused_everywhere(sandbox: Sandbox, door: str, method: str, target: str) -> None:
    answer = asked(sandbox.environment[door], method, target)
    assert answer.status == 403
    assert not [name for name, _ in answer.getheaders() if name.lower().startswith("access-control-")]


@pytest.mark.parametrize("door", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
    ],
)
def test_a_signed_request_of_another_origin_or_for_another_host_is_refused(
    sandbox: Sandbox, door: str, headers: dict[str, str]
) -> None:
    assert asked(sandbox.environment[door], "GET", "/", _signed(sandbox, door, {})).status != 403
    assert asked(sandbox.environment[door], "GET", "/", _signed(sandbox, door, headers)).status == 403


def _signed(sandbox: Sandbox, door: str, headers: dict[str, str]) -> dict[str, str]:
    host = headers.get("Host") or urlsplit(sandbox.environment[door]).netloc
    keys, request = sandbox.emulator.keys, AWSRequest(method="GET", url=f"http://{host}/", headers=headers)
    SigV4Auth(Credentials(keys.access_key, keys.secret_key), "sqs", sandbox.region).add_auth(request)
    return dict(request.headers.items())


def test_an_answer_to_a_program_lets_no_page_read_it(sandbox: Sandbox) -> None:
    answered = sandbox.client("dynamodb").list_tables()["ResponseMetadata"]["HTTPHeaders"]
    assert not [name for name in answered if name.startswith("access-control-")]


def test_presigned_addresses_put_and_get_without_keys_and_only_what_was_signed(sandbox: Sandbox) -> None:
    s3, key = sandbox.client("s3"), "presigned/ä b+c.txt"
    put = s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": key}, ExpiresIn=60)
    get = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": key}, ExpiresIn=60)
    assert _fetch("PUT", put, b"bytes") == (200, b"")
    assert _fetch("GET", get) == (200, b"bytes")
    assert _fetch("PUT", get, b"other")[0] == 403
    assert _fetch("GET", get.replace("c.txt", "d.txt"))[0] == 403
    assert _fetch("GET", get.replace("X-Amz-Expires=60", "X-Amz-Expires=6000"))[0] == 403


def _fetch(method: str, url: str, body: bytes | None = None) -> tuple[int, bytes]:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=30)
    connection.request(method, f"{place.path}?{place.query}", body=body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_a_body_of_any_size_and_names_of_any_letters_pass(sandbox: Sandbox) -> None:
    s3, body = sandbox.client("s3"), bytes(range(256)) * 40_000
    s3.put_object(Bucket=BUCKET, Key="access/%2F a+b/ü", Body=io.BytesIO(body), Metadata={"a": "b  c"})
    assert s3.get_object(Bucket=BUCKET, Key="access/%2F a+b/ü")["Body"].read() == body
    assert s3.list_objects_v2(Bucket=BUCKET, Prefix="access/%2F a+b/")["KeyCount"] == 1


def test_half_an_upload_is_not_stored(sandbox: Sandbox) -> None:
    """An upload that does not sign its body, as presigned ones do not, from a client that dies in the middle."""
    s3, key = sandbox.client("s3"), "access/half"
    place = urlsplit(s3.generate_presigned_url("put_object", Params={"Bucket": BUCKET, "Key": key}))
    head = f"PUT {place.path}?{place.query} HTTP/1.1\r\nHost: {place.netloc}\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection((str(place.hostname), place.port or 0)) as dying:
        dying.sendall(head.encode() + b"4\r\nhalf\r\n")
    s3.put_object(Bucket=BUCKET, Key="access/whole", Body=b"whole")
    time.sleep(0.5)
    assert s3.list_objects_v2(Bucket=BUCKET, Prefix=key)["KeyCount"] == 0


@pytest.fixture(scope="module")
def function(sandbox: Sandbox) -> Iterator[str]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("whoami.py", WHOAMI)
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    role = sandbox.client("iam").create_role(RoleName="whoami-role", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    sandbox.client("lambda").create_function(
        FunctionName="whoami",
        Runtime="python3.12",
        Handler="whoami.handler",
        Role=role,
        Code={"ZipFile": packed.getvalue()},
        Timeout=20,
    )
    yield "whoami"


def test_a_function_in_the_emulator_has_keys_that_work(sandbox: Sandbox, function: str) -> None:
    answered = sandbox.client("lambda").invoke(FunctionName=function, Payload=b"{}")
    said = json.loads(answered["Payload"].read())
    assert said.get("arn") == "arn:aws:sts::000000000000:assumed-role/whoami-role/whoami", said
    assert said["key"] != sandbox.emulator.keys.access_key


def test_the_keys_of_a_function_cannot_be_worked_out_from_its_name(sandbox: Sandbox, function: str) -> None:
    sandbox.client("lambda").invoke(FunctionName=function, Payload=b"{}")
    arn = f"arn:aws:lambda:{sandbox.region}:000000000000:function:{function}"
    digest = hashlib.sha256(f"{arn}:arn:aws:iam::000000000000:role/whoami-role".encode()).hexdigest()
    guessed = SandboxKeys(
        access_key=f"ASIA{digest[:16].upper()}", secret_key=hashlib.sha256(f"secret:{digest}".encode()).hexdigest()
    )
    token = hashlib.sha256(f"token:{digest}".encode()).hexdigest()
    with pytest.raises(ClientError) as refused:
        client_with(sandbox, "sts", guessed, token).get_caller_identity()
    assert refused.value.response["Error"]["Code"] == "InvalidClientTokenId"


def test_a_chat_model_of_the_sandbox_answers_only_who_holds_its_keys(tmp_path: Path) -> None:
    simulator = BedrockSimulator(scripts={"good": lambda _: ScriptedText(text="yes")}, keys=SandboxKeys.new())
    with simulator:

        def ask(keys: SandboxKeys) -> str:
            client = boto3.client(
                "bedrock-runtime",
                region_name="ca-central-1",
                endpoint_url=simulator.url,
                aws_access_key_id=keys.access_key,
                aws_secret_access_key=keys.secret_key,
            )
            said = client.converse(
                modelId="anthropic.claude-good", messages=[{"role": "user", "content": [{"text": "?"}]}]
            )
            return said["output"]["message"]["content"][0]["text"]

        assert simulator.keys is not None
        assert ask(simulator.keys) == "yes"
        with pytest.raises(ClientError, match="no such key"):
            ask(SandboxKeys.new())
        assert len(simulator.requests) == 1


def test_a_sandbox_hands_its_keys_to_its_chat_model(tmp_path: Path) -> None:
    bedrock = BedrockSimulator(scripts={})
    with Sandbox(tmp_path / "sandbox", bedrock=bedrock) as running:
        assert bedrock.keys == running.emulator.keys


def test_what_functions_were_given_lies_in_a_folder_for_its_owner_alone(sandbox: Sandbox) -> None:
    assert sandbox.folder.stat().st_mode & 0o077 == 0


KEYS = SandboxKeys.new()


def a_signed_head(*, body: bytes = b"", **changed: str) -> RequestHead:
    request = AWSRequest(method="POST", url="http://127.0.0.1:1/a/b?x=1", data=body)
    SigV4Auth(Credentials(KEYS.access_key, KEYS.secret_key), "sqs", "ca-central-1").add_auth(request)
    headers = {"host": "127.0.0.1:1", **{name.lower(): value for name, value in request.headers.items()}}
    return RequestHead(
        method=changed.get("method", "POST"),
        target=changed.get("target", "/a/b?x=1"),
        headers=tuple((headers | {name: value for name, value in changed.items() if name in headers}).items()),
    )


def test_a_signature_holds_for_the_request_it_was_made_for() -> None:
    refuse_unsigned(a_signed_head(body=b"said"), b"said", KEYS)


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (a_signed_head(body=b"said"), b"other"),
        (a_signed_head(method="PUT"), b""),
        (a_signed_head(target="/a/c?x=1"), b""),
        (a_signed_head(target="/a/b?x=2"), b""),
        (a_signed_head(host="127.0.0.1:2"), b""),
        (a_signed_head(authorization="Bearer x"), b""),
        (a_signed_head(authorization="AWS4-HMAC-SHA256 Credential=é"), b""),
        (a_signed_head(target="/?X-Amz-Signature=é"), b""),
        (a_signed_head(target=f"/?X-Amz-Signature=a&X-Amz-Expires={'9' * 30}"), b""),
    ],
)
def test_a_signature_holds_for_no_other_request(head: RequestHead, body: bytes) -> None:
    with pytest.raises(RequestRefused):
        refuse_unsigned(head, body, KEYS)


@pytest.mark.parametrize("minutes", [-16, 16])
def test_a_signature_of_another_time_is_refused(minutes: int) -> None:
    with pytest.raises(RequestRefused, match="out of date"):
        read_signature(a_signed_head(), now=datetime.now(UTC) + timedelta(minutes=minutes))


def test_a_signature_that_does_not_cover_the_host_is_refused() -> None:
    head = a_signed_head()
    bare = tuple((name, value.replace("SignedHeaders=host;", "SignedHeaders=")) for name, value in head.headers)
    with pytest.raises(RequestRefused, match="Host"):
        read_signature(replace(head, headers=bare))
