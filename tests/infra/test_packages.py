"""Packages hold all that their functions import, and nothing that they must not."""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from infra.packaging.closure import Target, closure
from infra.packaging.starting import failure, interpreter
from infra.packaging.wheels import LockBroken, _entries
from infra.packaging.zips import LOCK, MOST_UNPACKED, PACKAGES, Package, build

from tests.infra.conftest import ROOT
from tests.infra.templates import Template

BY_NAME = {package.name: package for package in PACKAGES}
# What each function loads sooner or later, beside its handler.
LATER = {
    "ingest": """
import affidavit.entrypoints.lambdas.on_bundle_uploaded
import affidavit.fleet.publish, affidavit.investigation, affidavit.nodes.ingest.bundle_intake
import affidavit.nodes.library.indexed_bundles
import affidavit.adapters.aws.dead_letter_sender
import affidavit.adapters.aws.storage.objects, affidavit.adapters.aws.node_directory
from affidavit.fleet.parquet import parquet_of
from affidavit.fleet.schema import NODES
from affidavit.knowledge import load_knowledge
load_knowledge()
assert parquet_of(NODES, [])[:4] == b'PAR1'
""",
    "mcp": """
import affidavit.entrypoints.lambdas.on_gateway_call
from affidavit.entrypoints.lambdas.mcp_http import handler
http = {'method': 'GET', 'path': '/health', 'sourceIp': '127.0.0.1'}
context = {'domainName': 'x.on.aws', 'http': http}
event = {'rawPath': '/health', 'headers': {'host': 'x.on.aws'}, 'requestContext': context}
answer = handler(event, None)
assert answer['statusCode'] == 200, answer
import os
os.environ |= {'CONSOLE_OIDC_ISSUER': 'https://issuer.example', 'CONSOLE_OIDC_CLIENT_ID': 'c'}
import affidavit.entrypoints.lambdas.console_http as console
answer = console.handler({**event, 'rawPath': '/login', 'cookies': []}, None)
assert answer['statusCode'] == 200, answer
from affidavit.entrypoints.mcp.tools.catalog import NODES, LAMBDA
[tool.function() for tool in (*NODES, *LAMBDA)]
import os
from affidavit.entrypoints.lambdas import on_hook
os.environ['HOOK_ALERTMANAGER_SECRET'] = 's' * 16
http = {'method': 'POST', 'path': '/hooks/alertmanager', 'sourceIp': '127.0.0.1'}
event = {'rawPath': '/hooks/alertmanager', 'requestContext': {'domainName': 'x.on.aws', 'http': http}, 'body': '{}'}
answer = on_hook.handler({**event, 'headers': {'host': 'x.on.aws'}}, None)
assert answer['statusCode'] == 401, answer
""",
    "supervisor": """
import affidavit.entrypoints.lambdas.on_incident, affidavit.entrypoints.lambdas.on_watchdog_tick
import affidavit.agent.run, affidavit.agent.toolbox.mcp_tools, affidavit.agent.rules
import affidavit.nodes.library.stored_lines
import affidavit.entrypoints.collection_wiring, affidavit.adapters.aws.sessions.role_clients
import affidavit.node_evidence.stored_or_collected
import affidavit.node_evidence.monitoring_agent_rung, affidavit.node_evidence.console_and_log_rung
from kubernetes import client
client.CustomObjectsApi(client.ApiClient(client.Configuration()))
from affidavit.adapters.aws.bedrock_chat import bedrock_chat
bedrock_chat('some.model-v1:0', region='ca-central-1')
import langchain_anthropic, langchain_google_genai, langchain_ollama, langchain_openai
import affidavit.adapters.channels.github, affidavit.adapters.channels.pagerduty_note
import affidavit.adapters.channels.slack_app, affidavit.adapters.channels.slack_webhook
import affidavit.adapters.channels.teams, affidavit.adapters.channels.webhook
""",
}


@pytest.fixture(scope="module")
def unpacked(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("unpacked")
    for built in json.loads((packages / "packages.json").read_text()):
        zipfile.ZipFile(packages / built["file"]).extractall(folder / built["name"])
    return {package.name: folder / package.name for package in PACKAGES}


def run_alone(content: Path, program: str) -> subprocess.CompletedProcess[str]:
    """Without the packages of this environment: the standard library and the package, as in Lambda."""
    start = f"import sys; sys.path.insert(0, {str(content)!r})\n"
    settings = {"LOGS_BUCKET": "b", "MCP_API_KEY": "k" * 32, "AWS_REGION": "ca-central-1", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-I", "-S", "-c", start + program]
    return subprocess.run(command, env=settings, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_a_package_holds_everything_that_its_functions_import(name: str, unpacked: dict[str, Path]) -> None:
    done = run_alone(unpacked[name], LATER[name])
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_a_package_knows_the_services_that_its_functions_call(name: str, unpacked: dict[str, Path]) -> None:
    services = BY_NAME[name].services
    made = f"import boto3; [boto3.client(name, 'ca-central-1') for name in {services!r}]"
    assert run_alone(unpacked[name], made).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", [package.name for package in PACKAGES if package.name != "demo"])
def test_a_package_carries_our_licence_and_that_of_the_engine_it_links(name: str, unpacked: dict[str, Path]) -> None:
    ours = unpacked[name] / "affidavit"
    assert "Apache License" in (ours / "LICENSE").read_text()
    assert "Vectorscan" in (ours / "NOTICE").read_text()


def test_no_service_is_called_that_the_packages_do_not_know() -> None:
    adapters = (ROOT / "src/affidavit/adapters/aws").rglob("*.py")
    # These are asked from a laptop only.
    laptop = {"stacks.py", "package_bucket_and_mcp_key.py", "doctor.py", "deployment.py", "athena.py"}
    called = {
        name
        for path in adapters
        if path.name not in laptop
        for name in re.findall(r'\.client\(\s*"([a-z0-9-]+)"', path.read_text())
    }
    assert called
    assert called <= set(BY_NAME["supervisor"].services)


@pytest.mark.slow
def test_a_cold_start_parses_no_catalog_and_tries_no_sample(unpacked: dict[str, Path], tmp_path: Path) -> None:
    program = f"""
import os; os.environ['XDG_CACHE_HOME'] = {str(tmp_path)!r}
from affidavit.index.scanning.rule_matching import slots_of
from affidavit.knowledge import load_knowledge
slots_of(load_knowledge().pack).prepare()
"""
    done = run_alone(unpacked["ingest"], program)
    assert done.returncode == 0, done.stderr
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.slow
def test_the_ingest_and_mcp_packages_carry_no_chat_model(unpacked: dict[str, Path]) -> None:
    for name in ("ingest", "mcp"):
        held = {path.name for path in unpacked[name].iterdir()}
        assert not {each for each in held if each.startswith(("langchain", "langgraph", "langsmith"))}


@pytest.mark.slow
def test_a_duplicate_alert_loads_no_chat_model(unpacked: dict[str, Path]) -> None:
    program = (
        LATER["supervisor"].splitlines()[1] + "\nassert not {'langchain_core', 'langgraph', 'mcp'} & set(sys.modules)"
    )
    assert run_alone(unpacked["supervisor"], program).returncode == 0


@pytest.mark.slow
def test_packages_fit_into_lambda(packages: Path) -> None:
    for built in json.loads((packages / "packages.json").read_text()):
        assert built["unpacked"] < MOST_UNPACKED


def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    small = Package(name="small", roots=("pyyaml",))
    digests: list[str] = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        built = build(small, Target.of_this_interpreter(), folder, is_installed=True)
        digests.append(hashlib.sha256((folder / built.file).read_bytes()).hexdigest())
    assert digests[0] == digests[1]


def test_a_package_takes_the_place_of_the_one_before(tmp_path: Path) -> None:
    (tmp_path / "small-0123456789abcdef.zip").write_bytes(b"of yesterday")
    (tmp_path / "other-0123456789abcdef.zip").write_bytes(b"not ours to remove")
    built = build(Package(name="small", roots=()), Target.of_this_interpreter(), tmp_path, is_installed=True)
    assert {path.name for path in tmp_path.iterdir()} == {built.file, "other-0123456789abcdef.zip"}


def test_the_lock_has_every_distribution_that_lambda_needs() -> None:
    for package in PACKAGES:
        names = closure(package.roots, Target.of_lambda())
        entries = _entries(LOCK.read_text(), names)
        assert len(entries) == len(names)
        assert all("--hash=sha256:" in entry and ";" not in entry.splitlines()[0] for entry in entries)


def test_a_distribution_that_the_lock_lacks_is_refused() -> None:
    with pytest.raises(LockBroken, match="no-such-thing"):
        _entries(LOCK.read_text(), ["no-such-thing"])


def test_a_package_that_does_not_start_is_told_from_one_that_does(tmp_path: Path) -> None:
    python = interpreter(Target.of_this_interpreter().python)
    assert python == sys.executable
    archive = tmp_path / "small.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("good.py", "import json")
        # It is installed here; in the package it is not.
        packed.writestr("lacking.py", "import pytest")
    assert failure(archive, ["good"], python) == ""
    assert "pytest" in failure(archive, ["good", "lacking"], python)


def test_a_python_that_is_not_here_is_not_taken_for_another() -> None:
    assert interpreter("2.1") is None


def test_every_handler_of_the_templates_is_among_what_its_package_loads(templates: dict[str, Template]) -> None:
    for template in templates.values():
        for each in template.of_type("AWS::Lambda::Function").values():
            package = each["Properties"]["Code"]["S3Key"]["Ref"].removesuffix("Package").lower()
            module = each["Properties"]["Handler"].rpartition(".")[0]
            assert package == "demo" or module in BY_NAME[package].loads


def test_packages_are_made_for_the_python_that_templates_name(templates: dict[str, Template]) -> None:
    functions = [each for one in templates.values() for each in one.of_type("AWS::Lambda::Function").values()]
    assert {each["Properties"]["Runtime"] for each in functions} == {f"python{Target.of_lambda().python}"}
