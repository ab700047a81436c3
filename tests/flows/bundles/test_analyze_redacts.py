"""What `analyze` prints and writes holds no secret, and still verifies against the bundle."""

import json
from pathlib import Path

import pytest
from tests.support.processes.command import affidavit

SECRET = "wJa1rXUtnFEMiK7MDENGbPxRfiCYq93Zk0LmTv5d"
KEY_LINES = [
    "-----BEGIN RSA PRIVATE KEY-----",
    *(f"MIIEpAIBAAKCAQEA{n}cV7vZ8q{n}Xk2pLw9" for n in "abc"),
    "-----END RSA PRIVATE KEY-----",
]
STAMP = "Jan 15 10:{minute:02}:00 ip-10-0-0-1 kubelet[1]: "
ERROR = (
    'E0115 10:05:00.000000       1 pod_workers.go:1300] "Error syncing pod, skipping" err="failed to start container '
    f'with CrashLoopBackOff: AWS_SECRET_ACCESS_KEY={SECRET}" pod="default/web-1"'
)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    lines = [f"password={SECRET}", ERROR, *KEY_LINES]
    log = tmp_path / "bundle" / "kubelet" / "kubelet.log"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"{STAMP.format(minute=at)}{line}\n" for at, line in enumerate(lines)))
    return tmp_path / "bundle"


@pytest.mark.parametrize("form", ["text", "json", "markdown"])
def test_no_secret_is_printed_unless_it_is_asked_for(form: str, bundle: Path) -> None:
    done = affidavit("analyze", bundle, "--format", form)
    assert "[REDACTED:" in done.stdout
    assert SECRET not in done.stdout + done.stderr
    raw = affidavit("analyze", bundle, "--format", form, "--raw")
    assert SECRET in raw.stdout
    assert "--raw: secrets in log lines are shown" in raw.stderr


def test_nothing_that_is_written_holds_a_secret_and_all_of_it_verifies(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert affidavit("analyze", bundle, "--out", out, "--quiet").returncode == 0
    written = {path.name: path.read_text() for path in out.iterdir()}
    assert set(written) == {"manifest.json", "findings_index.json", "report.html"}
    for secret in (SECRET, *KEY_LINES[1:4]):
        assert not [name for name, text in written.items() if secret in text]
    assert all((out / name).stat().st_mode & 0o077 == 0 for name in written)
    assert json.loads(written["findings_index.json"])["redacted"] is True
    verified = affidavit("verify", out / "findings_index.json", bundle)
    assert verified.returncode == 0, verified.stdout


def test_a_hidden_excerpt_of_another_line_does_not_verify(bundle: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    affidavit("analyze", bundle, "--out", out, "--quiet")
    index = json.loads((out / "findings_index.json").read_text())
    index["findings"][0]["evidence"]["excerpt"] = "something else, with [REDACTED:aws_secret_key] in it"
    (out / "findings_index.json").write_text(json.dumps(index))
    assert affidavit("verify", out / "findings_index.json", bundle).returncode == 1


def test_an_index_without_secrets_is_the_same_with_and_without_redaction(tmp_path: Path) -> None:
    (tmp_path / "b" / "kernel").mkdir(parents=True)
    line = "[ 8123.551210] java invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=984\n"
    (tmp_path / "b" / "kernel" / "dmesg.current").write_text(line)
    told = [
        json.loads(affidavit("analyze", tmp_path / "b", "--format", "json", *more).stdout)["index_id"]
        for more in ([], ["--raw"])
    ]
    assert told[0] == told[1]
