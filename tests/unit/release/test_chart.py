"""What the chart makes, as Helm itself rendered it (`make chart`), and which values it refuses."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from release.chart import CASES, CHART, RENDERED, ROOT, SCHEMA, digest, settings_of_the_chart

from affidavit import __version__
from affidavit.settings import secret_settings

NAMES = sorted(path.name for path in CASES.glob("*.yaml"))


def values(case: str) -> dict[str, Any]:
    """As Helm hands them to the schema: the chart's own with those of the case over them."""
    merged = yaml.safe_load((CHART / "values.yaml").read_text())
    for name, value in yaml.safe_load((CASES / case).read_text()).items():
        merged[name] = {**merged[name], **value} if isinstance(value, dict) else value
    return merged


def made(case: str) -> dict[str, dict[str, Any]]:
    return {each["kind"]: each for each in yaml.safe_load_all((RENDERED / case).read_text())}


@pytest.mark.parametrize("case", NAMES)
def test_what_is_kept_was_rendered_from_these_sources_and_its_values_pass_the_schema(case: str) -> None:
    assert (RENDERED / case).read_text().splitlines()[0] == f"# sources: {digest()}", "run `make chart`"
    jsonschema.validate(values(case), json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        ("image.repository", ""),
        ("existingSecret", ""),
        ("replicas", 2),
        ("settings.MCP_API_KEY", "a secret in the open"),
        ("settings.NO_SUCH_SETTING", "1"),
        ("settings.MCP_REQUESTS_PER_MINUTE", 600),
        ("ingress.enabled", True),
        ("serviceAccount.roleArn", "affidavit"),
        ("image.digest", "latest"),
        ("telemetry", True),
    ],
)
def test_values_that_would_not_work_or_show_a_secret_are_refused(path: str, wrong: object) -> None:
    changed = copy.deepcopy(values("least.yaml"))
    *folders, last = path.split(".")
    place = changed
    for folder in folders:
        place = place[folder]
    place[last] = wrong
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(changed, json.loads(SCHEMA.read_text()))


@pytest.mark.parametrize("case", NAMES)
def test_a_pod_has_no_privilege_writes_to_its_volumes_alone_and_sends_no_telemetry(case: str) -> None:
    pod = made(case)["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"USER {pod['securityContext']['runAsUser']}" in (ROOT / "infra/Dockerfile").read_text()
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/data", "/tmp"}
    names = {each["name"] for each in container["env"]}
    assert names <= {*settings_of_the_chart(), "AFFIDAVIT_DATA"}
    assert not names & {*secret_settings()}
    assert not [name for name in names if name.startswith("OTEL_")]


@pytest.mark.parametrize("case", NAMES)
def test_the_network_policy_lets_nobody_in_from_elsewhere_and_nothing_reach_the_metadata_service(case: str) -> None:
    policy = made(case)["NetworkPolicy"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert policy["ingress"][0]["from"]
    (web,) = [each for each in policy["egress"] if each["ports"] == [{"port": 443, "protocol": "TCP"}]]
    assert web["to"] == [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}]


def test_the_role_of_irsa_is_on_the_account_and_the_clusters_token_comes_only_where_its_api_is_asked() -> None:
    team, least = made("team.yaml"), made("least.yaml")
    annotations = team["ServiceAccount"]["metadata"]["annotations"]
    assert annotations == {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/affidavit"}
    tokens = [each["Deployment"]["spec"]["template"]["spec"]["automountServiceAccountToken"] for each in (team, least)]
    assert tokens == [True, False]
    assert "ClusterRole" not in least
    assert {verb for rule in team["ClusterRole"]["rules"][:1] for verb in rule["verbs"]} == {"get", "list"}


def test_the_chart_has_the_version_of_the_package_and_the_settings_of_today() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    schema = json.loads(SCHEMA.read_text())
    assert schema["properties"]["settings"]["propertyNames"]["enum"] == settings_of_the_chart(), "run `make docs`"


def test_the_image_holds_what_the_chart_can_switch_on() -> None:
    from infra.packaging.zips import SERVER

    assert {"authlib", "jinja2", "kubernetes"} <= set(SERVER.roots)
    assert Path(ROOT / "infra/Dockerfile").is_file()
