"""No answer is longer than its budget: what matters most comes first, the rest is counted, the next call is named."""

import json
from collections.abc import Callable

import pytest
from tests.support.knowledge.libraries import INSTANCE, a_library, shelve, small_knowledge
from tests.support.knowledge.packs import a_pack, a_rule

from affidavit.knowledge import Knowledge
from affidavit.nodes.library.indexed_bundles import Library
from affidavit.nodes.questions.correlate import correlate
from affidavit.nodes.questions.errors import errors
from affidavit.nodes.questions.file_listing import list_bundle_files
from affidavit.nodes.questions.node_comparison import cluster_health, compare_nodes
from affidavit.nodes.questions.quick_triage import quick_triage
from affidavit.nodes.questions.read import read
from affidavit.nodes.questions.search import search
from affidavit.nodes.questions.summarize import summarize
from affidavit.nodes.questions.validate import validate
from affidavit.nodes.questions.verify_report import verify_report
from affidavit.nodes.wire.correlate import CorrelateRequest
from affidavit.nodes.wire.files import ListBundleFilesRequest
from affidavit.nodes.wire.findings_page import ErrorsRequest
from affidavit.nodes.wire.node_comparison import ClusterHealthRequest, CompareNodesRequest
from affidavit.nodes.wire.read import ReadRequest
from affidavit.nodes.wire.search import SearchRequest, SearchResult
from affidavit.nodes.wire.shared_fields import ResponseFormat
from affidavit.nodes.wire.summarize import SummarizeRequest
from affidavit.nodes.wire.triage import TRIAGE_BYTES, QuickTriageRequest
from affidavit.nodes.wire.validate import ValidateRequest
from affidavit.nodes.wire.verify_report import VerifyReportRequest
from affidavit.wire.byte_budget import MAX_BYTES
from affidavit.wire.records import ToolAnswer, ToolRequest

NODES = [f"i-{number:017x}" for number in range(40)]
KEY = f"eks_{INSTANCE}/extracted/kubelet/kubelet.log"
RULES = 80


def line(number: int) -> bytes:
    words = b"RULE%02d " % (number % RULES) if number < RULES else b"KAPUT" if number % 9 else b"DEAD"
    return b"Jan 15 10:%02d:%02d ip kubelet[1]: %s %d %s\n" % (number // 60, number % 60, words, number, b"x" * 200)


FILES = {
    "kubelet/kubelet.log": b"".join(map(line, range(1200))),
    **{f"var_log/containers/pod-{n:03d}.log": b"KAPUT and error %s\n" % (b"y" * 300) * 3 for n in range(120)},
}
ASK: dict[str, tuple[type[ToolRequest], Callable[..., ToolAnswer]]] = {
    "errors": (ErrorsRequest, errors),
    "search": (SearchRequest, search),
    "read": (ReadRequest, read),
    "correlate": (CorrelateRequest, correlate),
    "summarize": (SummarizeRequest, summarize),
    "cluster_health": (ClusterHealthRequest, cluster_health),
    "compare_nodes": (CompareNodesRequest, compare_nodes),
    "list_bundle_files": (ListBundleFilesRequest, list_bundle_files),
    "validate": (ValidateRequest, validate),
    "verify_report": (VerifyReportRequest, verify_report),
}
IDS = [f"F-{number:03d}" for number in range(1, 100)]
QUESTIONS: dict[str, dict[str, object]] = {
    "errors": {"instanceId": INSTANCE, "pageSize": 200},
    "search": {"instanceId": INSTANCE, "query": "error", "maxResults": 500},
    "correlate": {"instanceId": INSTANCE},
    "summarize": {"instanceId": INSTANCE, "finding_ids": IDS},
    "cluster_health": {"clusterName": "prod"},
    "compare_nodes": {"instanceIds": NODES[:20]},
    "list_bundle_files": {"instanceId": INSTANCE},
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("budgets")
    many = [a_rule(f"test.r{n:02d}", f"RULE{n:02d} ", name=f"Rule {n:02d}", severity="high") for n in range(RULES)]
    known = small_knowledge().pack
    library = a_library(folder, knowledge=Knowledge(pack=a_pack(*known.rules, *many), checks=()))
    shelve(library, folder / "in", FILES)
    for node in NODES:
        shelve(library, folder / node, {"kubelet/kubelet.log": b"".join(map(line, range(RULES + 9)))}, instance=node)
    return library


def asked(library: Library, tool: str, arguments: dict[str, object]) -> ToolAnswer:
    request, question = ASK[tool]
    return question(library, request.model_validate(arguments))


def size(answer: ToolAnswer) -> int:
    return len(answer.model_dump_json(by_alias=True).encode())


@pytest.mark.parametrize("tool", QUESTIONS)
def test_an_answer_that_would_be_long_keeps_to_the_budget_and_names_the_next_call(library: Library, tool: str) -> None:
    answer = asked(library, tool, QUESTIONS[tool])
    assert MAX_BYTES // 2 < size(answer) <= MAX_BYTES
    info = answer.truncation_info
    assert answer.truncated and info is not None and info.next_call is not None
    assert info.original_count is None or info.returned_count < info.original_count
    following = asked(library, info.next_call.tool, info.next_call.arguments)
    assert following != answer, "the call that is named brings something else"


@pytest.mark.parametrize("tool", QUESTIONS)
def test_a_smaller_budget_gives_a_shorter_answer_with_what_matters_most(library: Library, tool: str) -> None:
    short, long = (asked(library, tool, {**QUESTIONS[tool], "max_bytes": most}) for most in (8 << 10, 64 << 10))
    assert size(short) <= 8 << 10 < size(long) <= 64 << 10


def test_the_pages_of_errors_together_are_every_finding_once_whatever_the_budget(library: Library) -> None:
    found: list[str] = []
    call: dict[str, object] | None = {"instanceId": INSTANCE, "max_bytes": 9000}
    while call is not None:
        answer = errors(library, ErrorsRequest.model_validate(call))
        found += [finding.finding_id for finding in answer.findings]
        info = answer.truncation_info
        call = info.next_call.arguments if info is not None and info.next_call is not None else None
    every = library.open(INSTANCE).index.findings
    assert found == [finding.finding_id for finding in every]


def test_the_worst_files_of_a_search_come_first_and_each_has_its_first_line(library: Library) -> None:
    answer = search(library, SearchRequest(instance_id=INSTANCE, query="KAPUT|DEAD"))
    first = answer.results[0]
    assert isinstance(first, SearchResult) and first.file == "kubelet/kubelet.log" and first.severity == "critical"
    assert answer.files_matched == 121 and answer.total_matches == 1200 - RULES + 360


def test_reading_on_from_next_chunk_start_gives_the_whole_file_in_small_answers(library: Library) -> None:
    content, at = "", 0
    while True:
        answer = read(library, ReadRequest(log_key=KEY, start_byte=at))
        assert size(answer) <= MAX_BYTES and answer.line_aligned and not answer.truncated
        assert answer.content.endswith("\n")
        content += answer.content
        if answer.next_chunk_start is None:
            break
        assert answer.has_more
        at = answer.next_chunk_start
    assert content.encode() == FILES["kubelet/kubelet.log"]


def test_an_explicit_range_is_returned_whole_beyond_the_budget(library: Library) -> None:
    total = len(FILES["kubelet/kubelet.log"])
    answer = read(library, ReadRequest(log_key=KEY, start_byte=0, end_byte=total))
    assert len(answer.content) == total > MAX_BYTES and not answer.truncated
    lines = read(library, ReadRequest(log_key=KEY, start_line=1, line_count=500))
    assert lines.line_count == 500 and not lines.truncated


def test_an_explicit_range_longer_than_an_answer_can_hold_says_so(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("affidavit.nodes.questions.read.INLINE", 10_000)
    total = len(FILES["kubelet/kubelet.log"])
    answer = read(library, ReadRequest(log_key=KEY, end_byte=total))
    assert answer.truncated and answer.truncation_info is not None and answer.link is not None
    assert (answer.truncation_info.original_count, answer.truncation_info.returned_count) == (total, answer.end_byte)
    on = answer.truncation_info.next_call
    assert on is not None and read(library, ReadRequest.model_validate(on.arguments)).start_byte == answer.end_byte


def test_a_concise_search_keeps_file_line_and_a_short_excerpt(library: Library) -> None:
    request = SearchRequest(instance_id=INSTANCE, query="DEAD", response_format=ResponseFormat.CONCISE)
    row = search(library, request).model_dump(mode="json")["results"][0]
    assert (row["file"], row["line"]) == ("kubelet/kubelet.log", 82)
    assert "DEAD 81" in row["excerpt"] and len(row["excerpt"]) <= 120


def test_a_concise_timeline_keeps_times(library: Library) -> None:
    request = CorrelateRequest(instance_id=INSTANCE, response_format=ResponseFormat.CONCISE)
    rows = correlate(library, request).model_dump(mode="json")["timeline"]
    assert all(row["first_seen"] for row in rows) and any(row.get("last_seen") for row in rows)


def test_from_a_sick_node_to_verified_quotes_takes_two_calls_and_eight_kilobytes(library: Library) -> None:
    triage = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE))
    assert size(triage) <= TRIAGE_BYTES and triage.top_findings
    claims = [{"finding_id": each.finding_id, "quote": each.evidence.excerpt} for each in triage.top_findings]
    checked = verify_report(
        library,
        VerifyReportRequest.model_validate({"instanceId": INSTANCE, "index_id": triage.index_id, "claims": claims}),
    )
    assert checked.all_hold
    assert size(triage) + size(checked) <= 8 << 10


def test_the_next_steps_of_a_triage_can_be_called_as_they_are(library: Library) -> None:
    triage = quick_triage(library, QuickTriageRequest(instance_id=INSTANCE))
    assert triage.next_steps
    for step in triage.next_steps:
        if step.tool in ASK:
            asked(library, step.tool, json.loads(json.dumps(step.arguments)))
