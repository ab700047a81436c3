"""The container images. No test builds them: their file is read, and what goes into the server's is started."""

import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

import pytest
from infra.packaging.closure import Target
from infra.packaging.zips import SERVER, build

from tests.infra.conftest import ROOT

DOCKERFILE = (ROOT / "infra/Dockerfile").read_text()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the image holds below /app, for this interpreter."""
    folder = tmp_path_factory.mktemp("image")
    built = build(SERVER, Target.of_this_interpreter(), folder, is_installed=True)
    zipfile.ZipFile(folder / built.file).extractall(folder / "app")
    return folder / "app"


def instructions(name: str) -> list[str]:
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name} (.+)$", joined, re.MULTILINE)


@pytest.mark.slow
def test_the_server_of_the_image_starts_with_what_is_in_it_alone(app: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"PYTHONPATH": str(app), "AFFIDAVIT_DATA": str(tmp_path), "MCP_API_KEY": "k" * 32, "PATH": "/usr/bin"}
    command = [sys.executable, "-S", "-B", "-m", "affidavit", "mcp", "--http", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        assert _health(port, process) == 200
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/mcp", data=b"{}", timeout=10)
        assert refused.value.code == 401
    finally:
        process.terminate()
        process.wait(timeout=20)


def _health(port: int, process: subprocess.Popen[str]) -> int:
    deadline = time.monotonic() + 100
    while process.poll() is None and time.monotonic() < deadline:
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=10).status
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise AssertionError(
        process.stderr.read() if process.poll() is not None and process.stderr else "it does not start"
    )


def test_the_image_carries_neither_a_chat_model_nor_the_tools_of_developers(app: Path) -> None:
    held = {path.name for path in app.iterdir()}
    assert {"affidavit", "uvicorn", "hyperscan"} <= held
    assert not {each for each in held if each.startswith(("langchain", "langgraph", "aws_cdk", "playwright", "pytest"))}


def test_images_have_the_python_of_the_packages() -> None:
    assert instructions("ARG")[0] == f"PYTHON={Target.of_lambda().python}"
    assert all("${PYTHON}" in image for image in instructions("FROM"))


def test_whatever_is_copied_from_the_sources_is_there_and_not_ignored() -> None:
    kept = (ROOT / "infra/Dockerfile.dockerignore").read_text().splitlines()
    sources = [each.split()[0] for each in instructions("COPY") if not each.startswith("--from")]
    assert "requirements.lock" in sources
    for source in sources:
        place = source.partition("/${")[0]
        assert f"!{place}" in kept
        assert place == "build/packages" or (ROOT / place).exists()


def test_dependencies_come_by_the_hashes_of_the_lock_and_the_server_is_not_root() -> None:
    installs = [each for each in instructions("RUN") if "pip install" in each]
    assert len(installs) == 1
    assert "--require-hashes" in installs[0]
    server = DOCKERFILE.partition("AS server")[2].partition("\nFROM")[0]
    assert "USER 10001" in server
    port = re.search(r"EXPOSE (\d+)", server)
    assert port is not None
    assert server.count(port[1]) == 3, "the command and the health check use the port that is told"
