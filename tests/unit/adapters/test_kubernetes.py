"""A cluster's API: what is sent there, what each answer means, and who is let in."""

import base64
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from affidavit.adapters.kubernetes.api import ApiCalls, ClusterApis
from affidavit.adapters.kubernetes.diagnostic_captures import NodeDiagnosticCaptures
from affidavit.adapters.kubernetes.in_cluster_access import InClusterAccess
from affidavit.adapters.kubernetes.node_health import KubernetesControlPlane
from affidavit.errors import AffidavitError, Conflict, InputRefused, NotFound, Throttled, UpstreamFailed
from affidavit.ports.cluster.api_connection import ClusterPlace, ClusterReach
from affidavit.sandbox.access.keys import SandboxKeys
from affidavit.sandbox.account.nodes import Fleet, FleetNode
from affidavit.sandbox.aws.request_routing import Gateway
from affidavit.sandbox.kubernetes.api_server import ClusterApi
from affidavit.sandbox.kubernetes.node_diagnostics import AgentConduct, Diagnostics

PLACE = ClusterPlace(cluster="demo", region="ca-central-1")
NODE = FleetNode(instance_id="i-0a11ce0000000001", faults=("oom", "disk_pressure"))
OTHERS = tuple(FleetNode(instance_id=f"i-0b0b0000000000{number:02x}") for number in range(12))


class Fixed:
    def __init__(self, reach: ClusterReach) -> None:
        self._reach = reach

    def reach(self, place: ClusterPlace) -> ClusterReach:
        return self._reach


def token_of(keys: SandboxKeys, cluster: str) -> str:
    from botocore.auth import SigV4QueryAuth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    url = "https://sts.ca-central-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15"
    request = AWSRequest(method="GET", url=url, headers={"x-k8s-aws-id": cluster})
    SigV4QueryAuth(Credentials(keys.access_key, keys.secret_key), "sts", "ca-central-1", expires=60).add_auth(request)
    return "k8s-aws-v1." + base64.urlsafe_b64encode(request.url.encode()).decode().rstrip("=")


KEYS = SandboxKeys.new()


@pytest.fixture
def api() -> Iterator[ClusterApi]:
    fleet = Fleet((NODE, *OTHERS))
    diagnostics = Diagnostics(fleet=fleet, conducts={NODE.instance_id: AgentConduct.IS_SILENT})
    made = ClusterApi(fleet=fleet, keys=KEYS, diagnostics=diagnostics)
    gateway = Gateway("", [made.answer], keys=None)
    gateway.start()
    fleet.api_url = gateway.url
    yield made
    gateway.stop()


def apis(api: ClusterApi, token: str | None = None) -> ClusterApis:
    token = token_of(KEYS, "demo") if token is None else token
    return ClusterApis(Fixed(ClusterReach(url=f"{api.fleet.api_url}/clusters/demo", token=token)))


def test_a_request_is_made_once_and_is_found_with_its_token(api: ClusterApi) -> None:
    captures = NodeDiagnosticCaptures(apis(api))
    assert captures.find(NODE.name, place=PLACE) is None
    captures.ask(NODE.name, place=PLACE, token="t-1", destination="https://bucket/key")
    with pytest.raises(Conflict):
        captures.ask(NODE.name, place=PLACE, token="t-2", destination="https://bucket/key")
    found = captures.find(NODE.name, place=PLACE)
    assert found is not None
    assert (found.token, found.is_ours, found.has_ended) == ("t-1", True, False)


def test_a_deletion_means_one_object_and_no_later_one_of_the_same_name(api: ClusterApi) -> None:
    captures = NodeDiagnosticCaptures(apis(api))
    captures.ask(NODE.name, place=PLACE, token="t-1", destination="https://bucket/key")
    old = captures.find(NODE.name, place=PLACE)
    assert old is not None
    captures.forget(old, place=PLACE)
    captures.forget(old, place=PLACE)
    captures.ask(NODE.name, place=PLACE, token="t-2", destination="https://bucket/key")
    with pytest.raises(Conflict):
        captures.forget(old, place=PLACE)


def test_an_instance_is_found_as_a_node_by_what_the_cluster_says_and_never_by_a_name_alone(
    api: ClusterApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.adapters.kubernetes.node_health._PAGE", 5)
    control_plane = KubernetesControlPlane(apis(api))
    assert control_plane.node_name(OTHERS[-1].instance_id, place=PLACE) == OTHERS[-1].name
    assert sum(asked == "GET /api/v1/nodes" for asked in api.asked) == 3
    assert control_plane.node_name("i-0ffff00000000000f", place=PLACE) is None


def test_a_node_is_seen_with_its_conditions_events_and_pods(api: ClusterApi) -> None:
    seen = KubernetesControlPlane(apis(api)).node_seen(NODE.name, place=PLACE)
    assert {one.type: one.status for one in seen.conditions}["DiskPressure"] == "True"
    assert {event.reason for event in seen.events} == {"OOMKilling", "EvictionThresholdMet"}
    assert [(pod.name, pod.reason, pod.restarts) for pod in seen.pods if pod.reason] == [("orders-7d", "OOMKilled", 5)]


@pytest.mark.parametrize(
    ("status", "error", "is_retryable"),
    [
        (401, UpstreamFailed, False),
        (403, UpstreamFailed, False),
        (404, NotFound, None),
        (409, Conflict, None),
        (410, UpstreamFailed, True),
        (429, Throttled, True),
        (500, UpstreamFailed, True),
    ],
)
def test_each_refusal_becomes_an_error_of_ours_that_says_whether_to_try_again(
    api: ClusterApi, status: int, error: type[AffidavitError], is_retryable: bool | None
) -> None:
    api.refusals = [status]
    with pytest.raises(error) as raised:
        KubernetesControlPlane(apis(api)).node_seen(NODE.name, place=PLACE)
    assert raised.value.hint
    if is_retryable is not None:
        assert raised.value.is_retryable is is_retryable


def test_without_the_agent_asking_says_so(api: ClusterApi) -> None:
    api.has_agent = False
    with pytest.raises(NotFound) as raised:
        NodeDiagnosticCaptures(apis(api)).ask(NODE.name, place=PLACE, token="t", destination="https://bucket/key")
    assert "the agent is installed" in raised.value.hint


@pytest.mark.parametrize("token", ["", "k8s-aws-v1.eA", "another", None])
def test_who_shows_no_token_for_this_cluster_is_not_let_in(api: ClusterApi, token: str | None) -> None:
    token = token_of(KEYS, "another") if token is None else token
    token = token_of(SandboxKeys.new(), "demo") if token == "another" else token
    with pytest.raises(UpstreamFailed, match="does not know us"):
        KubernetesControlPlane(apis(api, token)).node_seen(NODE.name, place=PLACE)
    assert api.asked == []


def test_nobody_there_is_worth_another_try() -> None:
    reach = ClusterReach(url="http://127.0.0.1:9", token="t")
    with pytest.raises(UpstreamFailed, match="could not be reached") as raised:
        KubernetesControlPlane(ClusterApis(Fixed(reach))).node_seen(NODE.name, place=PLACE)
    assert raised.value.is_retryable


def test_a_token_is_never_sent_in_the_clear() -> None:
    with pytest.raises(InputRefused, match="not served over HTTPS"):
        ApiCalls(ClusterReach(url="http://cluster.example", token="t"))


def asked(api: ClusterApi, method: str, path: str, body: object = None, kind: str = "application/json") -> int:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {token_of(KEYS, 'demo')}", "Content-Type": kind}
    request = urllib.request.Request(
        f"{api.fleet.api_url}/clusters/demo{path}", data=data, headers=headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


KIND = "/apis/eks.amazonaws.com/v1alpha1/nodediagnostics"
GOOD = {
    "apiVersion": "eks.amazonaws.com/v1alpha1",
    "kind": "NodeDiagnostic",
    "metadata": {"name": "n-1"},
    "spec": {"logCapture": {"destination": "https://x", "categories": ["All"]}},
}


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", KIND, GOOD, 201),
        ("POST", KIND, {**GOOD, "apiVersion": "v1"}, 400),
        ("POST", KIND, {**GOOD, "status": {}}, 422),
        ("POST", KIND, {**GOOD, "spec": {"logCapture": {"categories": ["All"]}}}, 422),
        ("POST", KIND, {**GOOD, "spec": {"logCapture": {"destination": "x", "categories": ["Everything"]}}}, 422),
        ("POST", KIND, {**GOOD, "metadata": {"name": "Not A Name"}}, 422),
        ("PUT", KIND, GOOD, 405),
        ("POST", KIND.replace("v1alpha1", "v1"), GOOD, 404),
        ("POST", "/api/v1/nodes", GOOD, 405),
        ("GET", "/api/v1/nodes?limt=5", None, 400),
        ("GET", "/api/v1/nodes?continue=99", None, 410),
        ("GET", f"{KIND}?watch=true&resourceVersion=1", None, 410),
        ("GET", f"{KIND}?watch=true", None, 200),
        ("GET", KIND, None, 200),
    ],
)
def test_the_peer_takes_what_kubernetes_documents_and_nothing_else(
    api: ClusterApi, method: str, path: str, body: object, status: int
) -> None:
    assert asked(api, method, path, body) == status


def test_the_peer_takes_no_body_of_another_type(api: ClusterApi) -> None:
    assert asked(api, "POST", KIND, GOOD, kind="text/plain") == 415


def test_a_pod_reaches_its_own_cluster_with_the_account_that_was_mounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.100.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    access = InClusterAccess(clusters=frozenset({"demo"}), account=tmp_path)
    with pytest.raises(InputRefused, match="no token of a service account"):
        access.reach(PLACE)
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "ca.crt").write_text("PEM")
    assert access.reach(PLACE) == ClusterReach(url="https://10.100.0.1:443", token="secret", authority="PEM")
    assert "secret" not in repr(access.reach(PLACE))
    with pytest.raises(InputRefused, match="ALLOWED_CLUSTERS"):
        InClusterAccess(clusters=frozenset({"demo", "b"}), account=tmp_path).reach(PLACE)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST")
    with pytest.raises(InputRefused, match="does not run inside a cluster"):
        access.reach(PLACE)
