"""Another user of this machine and a running sandbox: its files, its processes and its ports tell them nothing."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.flows.workloads.test_sandbox_command import affidavit, variables

NOBODY = 65534
# Not the interpreter of the tests: it may lie where another user cannot go.
PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin")
pytestmark = [
    pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root can become another user"),
    pytest.mark.skipif(PYTHON is None, reason="no system Python that another user could run"),
]
STRANGER = """
import json, os, sys, urllib.request, urllib.error
files, urls = json.loads(sys.argv[1])
def read(path):
    try:
        return open(path, "rb").read().decode("utf-8", "replace")
    except OSError as error:
        return type(error).__name__
def asked(url, headers):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20).status
    except urllib.error.HTTPError as error:
        return error.code
test = {"Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/ca-central-1/lambda/aws4_request, "
                         "SignedHeaders=host, Signature=0", "X-Amz-Date": "20260101T000000Z"}
print(json.dumps({
    "user": os.geteuid(),
    "files": {path: read(path) for path in files},
    "answers": [asked(url + target, headers) for url in urls for headers in ({}, test)
                for target in ("/", "/2015-03-31/functions/", "/_ministack/health", "/_affidavit")],
}))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Where every user may look: pytest's own folders are closed to others, and would prove nothing."""
    folder = Path(tempfile.mkdtemp(prefix="affidavit-strangers-"))
    folder.chmod(0o755)
    yield folder
    affidavit(folder, "down")
    shutil.rmtree(folder)


def test_another_user_learns_no_key_and_gets_no_answer(open_folder: Path) -> None:
    started = affidavit(open_folder, "up", "--detach")
    assert started.returncode == 0, started.stderr
    found = variables(started.stdout)
    data, secret = open_folder / ".affidavit", found["AWS_SECRET_ACCESS_KEY"]
    state = data / "sandbox.json"
    assert secret in state.read_text()
    assert state.stat().st_mode & 0o777 == 0o600
    holding = [state, data / "sandbox.log", Path(f"/proc/{json.loads(state.read_text())['pid']}/environ")]
    urls = [found[name] for name in found if name.startswith("AWS_ENDPOINT_URL")]
    said = _as_a_stranger([str(path) for path in holding], urls)
    assert said["user"] == NOBODY
    assert set(said["files"].values()) == {"PermissionError"}
    # 501: the chat model's server knows no GET at all.
    assert set(said["answers"]) <= {403, 501}
    assert said["answers"].count(403) >= 8


def _as_a_stranger(files: list[str], urls: list[str]) -> dict[str, object]:
    ran = subprocess.run(
        [str(PYTHON), "-I", "-c", STRANGER, json.dumps([files, urls])],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        env={},
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return json.loads(ran.stdout)
