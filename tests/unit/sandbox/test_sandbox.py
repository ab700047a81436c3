"""The sandbox as a whole: what it passes on, and that nothing of it stays behind."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from affidavit.sandbox.sandbox import Sandbox

KILLED = """
import json, os, signal, sys
from pathlib import Path
from affidavit.sandbox.sandbox import Sandbox
sandbox = Sandbox(Path(sys.argv[1])).start()
print(json.dumps({"emulator": sandbox.emulator.pid}), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_parameters_of_ssm_still_work(sandbox: Sandbox) -> None:
    ssm = sandbox.client("ssm")
    ssm.put_parameter(Name="/sandbox/key", Value="not a secret", Type="SecureString", Overwrite=True)
    found = ssm.get_parameter(Name="/sandbox/key", WithDecryption=True)["Parameter"]
    assert (found["Value"], found["Type"]) == ("not a secret", "SecureString")
    with pytest.raises(ssm.exceptions.ParameterNotFound):
        ssm.get_parameter(Name="/nothing")


def test_other_calls_of_ec2_go_to_the_emulator(sandbox: Sandbox) -> None:
    vpc = sandbox.client("ec2").create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]
    assert sandbox.client("ec2").describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["CidrBlock"] == "10.9.0.0/16"


def test_no_port_is_open_to_other_machines(sandbox: Sandbox) -> None:
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SSM"):
        port = urlsplit(sandbox.environment[name]).port
        with socket.socket() as other:
            # 127.0.0.2 is this machine, too: who listens on every address answers there.
            assert other.connect_ex(("127.0.0.2", port)) != 0
        with socket.socket() as own:
            assert own.connect_ex(("127.0.0.1", port)) == 0


def test_tables_expire_and_have_the_due_index(sandbox: Sandbox) -> None:
    dynamodb = sandbox.client("dynamodb")
    for setting in ("STATE_TABLE", "INCIDENT_STATE_TABLE", "INCIDENT_CONTEXT_TABLE"):
        name = sandbox.environment[setting]
        table = dynamodb.describe_table(TableName=name)["Table"]
        assert [index["IndexName"] for index in table["GlobalSecondaryIndexes"]] == ["due"]
        expiry = dynamodb.describe_time_to_live(TableName=name)["TimeToLiveDescription"]
        assert (expiry["TimeToLiveStatus"], expiry["AttributeName"]) == ("ENABLED", "ttl")


def test_the_emulator_ends_with_a_parent_that_was_killed(tmp_path: Path) -> None:
    child = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    emulator = json.loads(child.stdout)["emulator"]
    for _ in range(200):
        if not _is_running(emulator):
            return
        time.sleep(0.05)
    raise AssertionError("the emulator outlived its parent")


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z")
