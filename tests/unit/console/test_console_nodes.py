"""Nodes, their reports and their log files in the console."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.support.pages.console import ServedConsole, served

from affidavit.entrypoints.console.access.person import PersonRole
from affidavit.evaluation.generator import BundleSpec, Form, Layout, generate, write
from affidavit.nodes.library.object_keys import prefix_of

SECRET = "AKIAIOSFODNN7EXAMPLF"


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServedConsole, str]]:
    """A console with one node, whose bundle was handed in by a form."""
    folder = tmp_path_factory.mktemp("console")
    (folder / "bundles").mkdir()
    archive = write(generate(BundleSpec(layout=Layout.AL2023, faults=("oom",))), folder / "bundles", Form.TAR_GZ)
    with served(folder / "data") as console:
        client = console.browser()
        with archive.open("rb") as file:
            answer = client.post(
                "/hand-in", data={"token": console.token(client)}, files={"file": (archive.name, file)}
            )
        assert answer.status_code == 303, answer.text
        yield console, answer.headers["location"].split("/")[2]


def log_of(nodes: tuple[ServedConsole, str]) -> str:
    return f"/logs/{prefix_of(nodes[1])}/extracted/kernel/dmesg.human.current"


def test_nodes_are_listed_with_what_is_wrong(nodes: tuple[ServedConsole, str]) -> None:
    text = nodes[0].browser().get("/nodes").text
    assert nodes[1] in text
    assert "memory limit" in text


def test_the_report_of_an_index_has_the_data_of_report_html(nodes: tuple[ServedConsole, str]) -> None:
    console, instance = nodes
    answer = console.browser().get(f"/nodes/{instance}", follow_redirects=True)
    assert 'id="data"' in answer.text and "OOM killer invoked" in answer.text
    assert '<script src="/static/report.js' in answer.text
    assert "<style" not in answer.text
    assert answer.headers["content-encoding"] == "gzip"
    assert len(gzip.compress(answer.content)) < 300_000
    assert '"excerpts":[[' in answer.text


def test_findings_are_lit_in_the_log_and_linked(nodes: tuple[ServedConsole, str]) -> None:
    text = nodes[0].browser().get(log_of(nodes)).text
    assert 'id="L1"' in text and "Next finding" in text
    following = text.partition('data-next-finding href="')[2].partition('"')[0]
    lit = nodes[0].browser().get(log_of(nodes) + following.partition("#")[0]).text
    assert "<mark>" in lit and "invoked oom-killer" in lit


def test_find_goes_to_the_line(nodes: tuple[ServedConsole, str]) -> None:
    answer = nodes[0].browser().get(f"{log_of(nodes)}?find=oom-killer")
    assert answer.status_code == 303
    line = int(answer.headers["location"].rpartition("#L")[2])
    shown = nodes[0].browser().get(answer.headers["location"].partition("#")[0]).text
    assert "oom-killer" in shown.partition(f'id="L{line}"')[2].partition("</li>")[0]
    missed = nodes[0].browser().get(f"{log_of(nodes)}?find=never-written-anywhere", follow_redirects=True)
    assert "Not found from line" in missed.text


@pytest.mark.parametrize(
    "key",
    [
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "eks_i-0f3a9c1d7e5b24680/../eks_i-0f3a9c1d7e5b24680/manifest.json",
        "eks_i-0f3a9c1d7e5b24680/extracted/../manifest.json",
        "eks_i-0f3a9c1d7e5b24680/extracted/%2e%2e/findings_index.json",
        "eks_i-0f3a9c1d7e5b24680/findings_index.json",
        "eks_i-0f3a9c1d7e5b24680/manifest.json",
        "eks_i-0f3a9c1d7e5b24680/extracted/nothing.log",
        "eks_i-00000000000000000/extracted/kernel/dmesg.current",
        "incidents/x/answers/y.json",
        "eks_i-0f3a9c1d7e5b24680/extracted/kernel\\..\\x",
        "/etc/passwd",
    ],
)
def test_a_path_that_leads_elsewhere_is_refused(nodes: tuple[ServedConsole, str], key: str) -> None:
    answer = nodes[0].browser().get(f"/logs/{key}")
    assert answer.status_code in (400, 404)
    assert "root:" not in answer.text
    if "extracted/%2e%2e" in key:  # a client takes other dots out of an address before it asks
        assert "log key" in answer.text and "it has an empty, . or .. segment" in answer.text


def _with_line(nodes: tuple[ServedConsole, str], line: bytes) -> Path:
    console, instance = nodes
    file = console.folder / "objects" / prefix_of(instance) / "extracted" / "kernel" / "dmesg.current"
    file.chmod(0o600)
    file.write_bytes(file.read_bytes() + line)
    return file


def test_secrets_are_hidden_neither_shown_nor_found_and_raw_is_logged(nodes: tuple[ServedConsole, str]) -> None:
    console, instance = nodes
    _with_line(nodes, f"\naws_access_key_id = {SECRET}\n".encode())
    path = f"/logs/{prefix_of(instance)}/extracted/kernel/dmesg.current"
    viewer, operator = console.browser(PersonRole.VIEWER), console.browser(PersonRole.OPERATOR, name="olga")
    last = next(part for part in viewer.get(path).text.split('href="') if "Last" in part[:40])
    tail = path + last.partition('"')[0]
    assert SECRET not in viewer.get(tail).text and "REDACTED" in viewer.get(tail).text
    assert "missed" in viewer.get(f"{path}?find={SECRET}").headers["location"]
    assert viewer.get(f"{tail}&raw=1").status_code == 400
    assert SECRET in operator.get(f"{tail}&raw=1").text
    assert [(one.who, one.what) for one in console.desk.actions.latest(1)] == [("olga", "looked at raw lines")]


def test_a_huge_file_and_a_huge_line_are_shown_in_windows(nodes: tuple[ServedConsole, str]) -> None:
    console, instance = nodes
    file = console.folder / "objects" / prefix_of(instance) / "extracted" / "kernel" / "huge.log"
    with file.open("wb") as out:
        for number in range(400_000):
            out.write(b"line %d of a large log with some words behind its number\n" % number)
        out.write(b"x" * 2_000_000 + b"\nthe last line\n")
    path = f"/logs/{prefix_of(instance)}/extracted/kernel/huge.log"
    client = console.browser()
    middle, end = client.get(f"{path}?from=200001"), client.get(f"{path}?from=400001")
    assert 'id="L200001"' in middle.text and "line 200000 of" in middle.text
    assert len(middle.content) < 300_000 and len(end.content) < 300_000
    assert "more characters" in end.text
    assert "#L400002" in client.get(f"{path}?find=the last line").headers["location"]
    assert client.get(f"{path}?from=999999999").status_code == 400


def test_the_fleet_answers_or_says_that_it_could_not_look(nodes: tuple[ServedConsole, str], tmp_path: Path) -> None:
    """A bundle that was handed in is among the fleet."""
    text = nodes[0].browser().get("/fleet?ask=worst-nodes").text
    assert "1 index asked" in text and f'href="/nodes/{nodes[1]}"' in text and "ORDER BY critical" in text
    with served(tmp_path) as empty:
        assert "Could not look" in empty.browser().get("/fleet?ask=clusters").text


def test_an_index_is_verified_against_the_stored_bundle(nodes: tuple[ServedConsole, str]) -> None:
    console, instance = nodes
    index = console.folder / "objects" / prefix_of(instance) / "findings_index.json"
    client = console.browser()

    def verdict(content: bytes) -> httpx.Response:
        return client.post("/verify", data={"token": console.token(client)}, files={"file": ("index.json", content)})

    assert "claims hold" in verdict(index.read_bytes()).text
    forged = index.read_bytes().replace(b"invoked oom-killer", b"invoked bad-killer", 1)
    assert "claims fell" in verdict(forged).text
    for hostile in (b"[]", b"{", b"\x00\xff", b"[" * 100_000, b"PK\x03\x04"):
        assert verdict(hostile).status_code == 400
