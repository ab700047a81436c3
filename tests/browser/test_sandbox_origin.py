"""A page of another origin, in a real Chromium, attacks a running sandbox: it neither reads nor writes."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page

from affidavit.sandbox.aws.resources import BUCKET
from affidavit.sandbox.sandbox import Sandbox
from tests.browser.chromium import chromium, needs_chromium

pytestmark = needs_chromium
REBOUND = "rebound.example"
DOORS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM")
FETCH = """async ([url, options]) => {
    try { const answer = await fetch(url, options); return [answer.type, answer.status, await answer.text()] }
    catch (error) { return ["error", 0, String(error)] }
}"""


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>another site</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """On a site of another origin. The name of a third site leads to this machine, as by DNS rebinding."""
    site = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    threading.Thread(target=site.serve_forever, args=(0.05,), daemon=True).start()
    rules = f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"
    with chromium(rules) as browser:
        page = browser.new_context().new_page()
        page.goto(f"http://localhost:{site.server_address[1]}/")
        assert page.title() == "another site"
        yield page
    site.shutdown()
    site.server_close()


def fetched(page: Page, url: str, **options: Any) -> list[Any]:
    return page.evaluate(FETCH, [url, options])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("target", ["/", "/_ministack/health", "/_affidavit", "/?Action=ListQueues"])
def test_a_page_of_another_origin_reads_nothing(page: Page, sandbox: Sandbox, door: str, target: str) -> None:
    for method in ("GET", "POST", "PUT"):
        assert fetched(page, sandbox.environment[door] + target, method=method)[0] == "error"


def test_a_page_of_another_origin_reads_nothing_even_by_a_presigned_address(page: Page, sandbox: Sandbox) -> None:
    s3 = sandbox.client("s3")
    s3.put_object(Bucket=BUCKET, Key="origin/secret", Body=b"a secret")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "origin/secret"})
    assert fetched(page, url)[0] == "error"


def test_a_page_of_another_origin_writes_nothing(page: Page, sandbox: Sandbox) -> None:
    """A request that needs no preflight is sent all the same: it has to be refused when it arrives."""
    url = sandbox.emulator.url
    sandbox.client("s3").put_object(Bucket=BUCKET, Key="origin/kept", Body=b"kept")
    fetched(page, f"{url}/?Action=CreateQueue&QueueName=planted", method="POST", mode="no-cors")
    fetched(page, f"{url}/_ministack/reset", method="POST", mode="no-cors")
    fetched(page, f"{url}/{BUCKET}/planted", method="PUT", body="x")
    key = {"X-Amz-Credential": "test/20260101/ca-central-1/sqs/aws4_request"}
    fetched(page, f"{url}/?Action=CreateQueue&QueueName=planted", method="POST", headers=key)
    assert not sandbox.client("sqs").list_queues(QueueNamePrefix="planted").get("QueueUrls")
    listed = sandbox.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    assert "origin/kept" in [each["Key"] for each in listed]
    assert "planted" not in [each["Key"] for each in listed]


@pytest.mark.parametrize("door", DOORS)
def test_a_site_whose_name_leads_to_this_machine_reads_nothing(page: Page, sandbox: Sandbox, door: str) -> None:
    port = urlsplit(sandbox.environment[door]).port
    tab = page.context.new_page()
    answer = tab.goto(f"http://{REBOUND}:{port}/_ministack/health")
    assert answer is not None
    assert answer.status == 403
    assert fetched(tab, f"http://{REBOUND}:{port}/")[1] == 403
    tab.close()
