"""Whoever may only read learns nothing about a hidden secret: not by counting, not by guessing, not by digests."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve

from affidavit.errors import InputRefused
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.revealing_digests import leaving
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.verify_report import verify_report
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.read import ReadRequest
from affidavit.nodes.wire.search import SearchAnswer, SearchRequest
from affidavit.nodes.wire.verify_report import VerifyReportRequest
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.wire.records import ToolAnswer

SECRET = "hunter2horse9battery"
LINE = f"KAPUT login with password={SECRET} failed"
KEY_BODY = "MIIEowIBAAKCAQEAtx9v4y8hQ2mE0b7w"
FILES = {
    "kubelet/kubelet.log": f"fine\n{LINE}\nKAPUT without anything to hide\n".encode(),
    "var_log/other.log": b"nothing here\n",
    "var_log/key.log": (
        "before\n-----BEGIN RSA PRIVATE" + f" KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE" + " KEY-----\nafter\n"
    ).encode(),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("oracle")
    library = a_library(folder)
    shelve(library, folder / "in", FILES)
    assert SECRET not in Redactor().redact(LINE).text, "the line has to hold something that is hidden"
    return library


def found(library: Library, query: str) -> SearchAnswer:
    return search(library, SearchRequest(instance_id=INSTANCE, query=query))


def left(library: Library, answer: ToolAnswer) -> dict[str, Any]:
    return leaving(answer.model_dump(mode="json", by_alias=True), library).content


def guesses() -> list[str]:
    right = [f"password={SECRET[:size]}" for size in range(1, len(SECRET) + 1)]
    return [*right, SECRET, f"{SECRET[4:9]}", "password=[a-m]", f"password=.{{{len(SECRET)}}} failed", KEY_BODY[:12]]


@pytest.mark.parametrize("guess", guesses())
def test_a_search_that_touches_a_hidden_span_counts_the_same_whether_the_guess_is_right_or_not(
    library: Library, guess: str
) -> None:
    answer = found(library, guess)
    assert (answer.total_matches, answer.results) == (0, [])


@pytest.mark.parametrize("beside", ["REDACTED", "login with"])
def test_a_guess_beside_something_that_matches_anyway_changes_no_count(library: Library, beside: str) -> None:
    right, wrong = found(library, f"{SECRET}|{beside}"), found(library, f"{SECRET[::-1]}|{beside}")
    assert right.total_matches == wrong.total_matches >= 1


def test_a_line_with_a_hidden_part_is_found_by_what_is_visible_of_it(library: Library) -> None:
    answer = found(library, "KAPUT login with .* failed$")
    assert answer.total_matches == 1
    assert found(library, "KAPUT").total_matches == 2


def test_quoting_a_guess_is_refuted_and_quoting_what_left_holds(library: Library) -> None:
    index = errors(library, ErrorsRequest(instance_id=INSTANCE)).index_id
    visible = Redactor().redact(LINE).text
    claims = [{"finding_id": "F-001", "quote": quote} for quote in (LINE, SECRET, f"password={SECRET[:6]}", visible)]
    asked = {"instanceId": INSTANCE, "index_id": index, "claims": claims}
    judged = verify_report(library, VerifyReportRequest.model_validate(asked)).claims
    assert [claim.verdict.value for claim in judged] == [*["quote_not_found"] * 3, "holds"]
    assert SECRET not in json.dumps([claim.model_dump(mode="json") for claim in judged])
    assert judged[-1].sha256 is None, "a digest of the line lets anybody try secrets at home"


def test_the_digest_of_a_line_leaves_only_when_nothing_in_it_is_hidden(library: Library) -> None:
    answer = left(library, errors(library, ErrorsRequest(instance_id=INSTANCE)))
    (finding,) = answer["findings"]
    assert finding["evidence"]["sha256"] is None
    (result,) = left(library, found(library, "KAPUT"))["results"]
    assert result["evidence"]["sha256"] is None
    assert [len(line["sha256"]) for line in result["additional_matches"]] == [64]


def test_what_a_secret_is_part_of_is_known_across_the_pieces_a_file_is_read_in(tmp_path: Path) -> None:
    library = a_library(tmp_path)
    filler = b"x" * 63 + b"\n"
    text = filler * 1023 + LINE.encode() + b"\n" + filler * 3000 + LINE.encode() + b"\n"
    shelve(library, tmp_path / "in", {"kubelet/kubelet.log": text})
    assert found(library, SECRET[:8]).total_matches == 0
    assert found(library, "KAPUT login with").total_matches == 2
    assert found(library, "^x+$").total_matches == 4023


@pytest.mark.parametrize(
    "lines",
    [
        ["- name: AWS_SECRET_ACCESS_KEY", f"  value: {SECRET}"],
        ['{"name": "DB_PASSWORD",', f' "value": "{SECRET}"', "}"],
        ["2026-01-15T10:25:03.1Z stdout P password=", f"2026-01-15T10:25:03.2Z stdout F {SECRET}"],
        ["api_token: >-", f"  {SECRET}"],
        [
            "-----BEGIN RSA PRIVATE" + " KEY-----",
            f"{SECRET * 3}",
            f"{SECRET[:9]}=",
            "-----END RSA PRIVATE" + " KEY-----",
        ],
    ],
    ids=["yaml", "json", "parts of a container's line", "folded yaml", "key"],
)
def test_a_line_is_hidden_by_what_the_line_before_it_says(lines: list[str], tmp_path: Path) -> None:
    library = a_library(tmp_path)
    shelve(library, tmp_path / "in", {"var_log/pod.log": "\n".join(["before", *lines, "# after"]).encode()})
    answer = found(library, ".").model_dump(mode="json", by_alias=True)
    assert SECRET[:9] in json.dumps(answer), "before it leaves"
    gone = leaving(answer, library)
    told, _ = redact_answer(gone.content, Redactor(), gone.around)
    assert SECRET[:9] not in json.dumps(told)
    assert {"before", "# after"} <= {line["excerpt"] for line in _lines(told)}


def _lines(told: Any) -> list[dict[str, Any]]:
    if isinstance(told, list):
        return [line for each in told for line in _lines(each)]
    if not isinstance(told, dict):
        return []
    own = [told] if "excerpt" in told else []
    return [*own, *(line for each in told.values() for line in _lines(each))]


def test_records_of_ours_that_hold_digests_of_raw_lines_are_not_read(library: Library) -> None:
    marker = library.find(INSTANCE)
    for key in (marker.index_key, marker.manifest_key):
        with pytest.raises(InputRefused, match="not a log"):
            read(library, ReadRequest(log_key=key))
    assert read(library, ReadRequest(log_key=f"eks_{INSTANCE}/extracted/var_log/other.log")).content == "nothing here\n"
