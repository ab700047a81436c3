"""A write whose answer is lost is not sent again: it would lose against itself, or count twice."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from affidavit.adapters.aws.clients import AwsClients
from affidavit.adapters.aws.storage.table import DynamoTable
from affidavit.errors import Throttled, UpstreamFailed
from affidavit.ports.clock import SystemClock
from affidavit.ports.table import Absent, Key, Put, Update

THROTTLED = b'{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"m"}'

IN_PROGRESS = b'{"__type":"com.amazonaws.dynamodb.v20120810#TransactionInProgressException","message":"m"}'
CANCELED = (
    b'{"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","message":"m",'
    b'"CancellationReasons":[{"Code":"TransactionConflict","Message":"m"}]}'
)
COUNTING = Update(key=Key(pk="p", sk="s"), add={"count": 1})


class Endpoint:
    """Answers every request alike, and counts them."""

    def __init__(self, status: int, body: bytes) -> None:
        self.targets: list[str] = []
        self.bodies: list[bytes] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                endpoint.bodies.append(self.rfile.read(int(self.headers["content-length"])))
                endpoint.targets.append(self.headers["x-amz-target"].partition(".")[2])
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def endpoint(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    endpoint = Endpoint(*request.param)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{endpoint.server.server_address[1]}")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    yield endpoint
    endpoint.server.shutdown()
    endpoint.server.server_close()


def a_table() -> DynamoTable:
    return DynamoTable(AwsClients("ca-central-1"), "t", SystemClock())


@pytest.mark.parametrize("endpoint", [(500, b"{}")], indirect=True)
def test_a_write_that_may_have_happened_is_sent_once(endpoint: Endpoint) -> None:
    for write in (
        Put(item={"pk": "p", "sk": "s"}, when=Absent()),
        Update(key=Key(pk="p", sk="s"), add={"count": 1}),
    ):
        endpoint.targets.clear()
        with pytest.raises(UpstreamFailed) as failure:
            a_table().write(write)
        assert failure.value.is_retryable
        assert len(endpoint.targets) == 1


@pytest.mark.parametrize("endpoint", [(500, b"{}")], indirect=True)
def test_reads_and_transactions_are_sent_again(endpoint: Endpoint) -> None:
    with pytest.raises(UpstreamFailed):
        a_table().get(Key(pk="p", sk="s"))
    with pytest.raises(UpstreamFailed):
        a_table().write_all([Put(item={"pk": "p", "sk": "s"})])
    assert endpoint.targets == ["GetItem"] * 3 + ["TransactWriteItems"] * 3


@pytest.mark.parametrize("endpoint", [(400, THROTTLED)], indirect=True)
def test_a_throttled_write_did_not_happen_and_is_tried_again(endpoint: Endpoint) -> None:
    with pytest.raises(Throttled):
        a_table().write(Put(item={"pk": "p", "sk": "s"}))
    assert len(endpoint.targets) > 1


@pytest.mark.parametrize("endpoint", [(400, IN_PROGRESS)], indirect=True)
def test_a_transaction_that_may_still_be_applied_is_sent_again_as_it_was(endpoint: Endpoint) -> None:
    with pytest.raises(UpstreamFailed):
        a_table().write_all([COUNTING])
    assert len(endpoint.bodies) > 3, "more than the library's own attempts"
    assert len(set(endpoint.bodies)) == 1, "another token, or another time in its condition, would count twice"


@pytest.mark.parametrize("endpoint", [(400, CANCELED)], indirect=True)
def test_a_transaction_that_was_canceled_is_followed_by_a_new_one(endpoint: Endpoint) -> None:
    with pytest.raises(UpstreamFailed):
        a_table().write_all([COUNTING])
    tokens = {json.loads(body)["ClientRequestToken"] for body in endpoint.bodies}
    assert len(tokens) == len(endpoint.bodies) > 1
