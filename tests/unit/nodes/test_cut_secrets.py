"""Secrets that answers cut: at the end of an excerpt, and between two chunks of `read`."""

import base64
import json

import pytest
from tests.support.knowledge.libraries import INSTANCE, a_library, an_archive, take_in

from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.library.revealing_digests import leaving as answer_leaving
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.questions.verify_report import verify_report
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.read import ReadRequest
from affidavit.nodes.wire.search import SearchRequest
from affidavit.nodes.wire.summarize import SummarizeRequest
from affidavit.nodes.wire.verify_report import ReportClaim, VerifyReportRequest
from affidavit.redaction.answer import redact_answer
from affidavit.redaction.redact import Redactor
from affidavit.wire.records import ToolAnswer

KEY = f"eks_{INSTANCE}/extracted/kubelet/kubelet.log"
TOKEN = "AKIAIOSFODNN7EXAMPLE"
BODY = base64.b64encode(bytes(range(7, 250)) * 5).decode()
# The last line is one that alone looks like a word.
LINES = [*(BODY[at : at + 64] for at in range(0, 1280, 64)), "QmFzZTY0"]
PEM = "\n".join(["-----BEGIN RSA PRIVATE" + " KEY-----", *LINES, "-----END RSA PRIVATE" + " KEY-----"])


def leaving(answer: ToolAnswer, library: Library) -> str:
    left = answer_leaving(answer.model_dump(mode="json", by_alias=True), library)
    return json.dumps(redact_answer(left.content, Redactor(), left.around)[0])


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("cut")
    log = [f"{'x' * (500 - 7 - cut)} KAPUT {TOKEN} and more {'y' * 50}" for cut in range(19, 0, -1)]
    text = "\n".join(["first line", *log, "a short line", PEM, "after it", "QmFzZTY0", "last line"])
    library = a_library(folder)
    take_in(library, an_archive(folder, {"kubelet/kubelet.log": f"{text}\n".encode()}))
    return library


def test_no_chunk_of_a_file_shows_part_of_a_private_key(library: Library) -> None:
    total = library.objects.head(KEY).size
    for size in (40, 64, 65, 66, 130, 500, 1000, 1299, 3000):
        at: int | None = 0
        shown = ""
        while at is not None:
            answer = read(library, ReadRequest(log_key=KEY, start_byte=at, end_byte=at + size))
            shown += json.loads(leaving(answer, library))["content"]
            at = answer.next_chunk_start
        assert not [line for line in LINES[:-1] if line in shown]
        # Once it is a line of its own, far from any key.
        assert shown.count("QmFzZTY0") == 1
        assert shown.startswith("first line\n") and shown.endswith("last line\n")
        assert shown.count("\n") == library.objects.get(KEY).count(b"\n")
    assert answer.total_size == total


def test_every_line_of_a_private_key_read_alone_is_hidden(library: Library) -> None:
    first = library.objects.get(KEY).split(b"\n").index(PEM.split("\n")[0].encode()) + 1
    for number, line in enumerate(PEM.split("\n")):
        shown = leaving(read(library, ReadRequest(log_key=KEY, start_line=first + number, line_count=1)), library)
        assert line not in shown


def test_a_search_and_what_cites_it_do_not_show_the_last_line_of_a_private_key(library: Library) -> None:
    found = search(library, SearchRequest(instance_id=INSTANCE, query="^QmFz[A-Za-z0-9]*$"))
    assert found.total_matches == 1, "the one in the key does not exist for those who ask"
    assert leaving(found, library).count("QmFzZTY0") == 1
    cited = SummarizeRequest(
        instance_id=INSTANCE, finding_ids=["S-001"], search_id=found.search_id, index_id=found.index_id
    )
    assert leaving(summarize(library, cited), library).count("QmFzZTY0") == 1
    claim = ReportClaim(finding_id="S-001", quote="never written there")
    asked = VerifyReportRequest(
        instance_id=INSTANCE, claims=[claim], search_id=found.search_id, index_id=found.index_id
    )
    refuted = verify_report(library, asked)
    assert not refuted.all_hold
    assert leaving(refuted, library).count("QmFzZTY0") == 1


def test_the_excerpts_of_errors_and_search_never_show_the_beginning_of_a_key(library: Library) -> None:
    assert TOKEN[:6] in json.dumps(errors(library, ErrorsRequest(instance_id=INSTANCE)).model_dump(mode="json"))
    for answer in (
        errors(library, ErrorsRequest(instance_id=INSTANCE)),
        search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT")),
    ):
        shown = leaving(answer, library)
        assert "[REDACTED:" in shown
        assert TOKEN[:5] not in shown


def test_a_quote_of_such_an_excerpt_still_verifies(library: Library) -> None:
    found = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT"))
    result = json.loads(leaving(found, library))["results"][0]
    quotes = [result["evidence"]["excerpt"], *(each["excerpt"] for each in result["additional_matches"])]
    claims = [ReportClaim(finding_id="S-001", quote=quote) for quote in quotes]
    asked = VerifyReportRequest(instance_id=INSTANCE, claims=claims, search_id=found.search_id, index_id=found.index_id)
    assert verify_report(library, asked).all_hold
